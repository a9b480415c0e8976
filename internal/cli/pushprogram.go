package cli

import (
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
)

// programs reads the values of --platform.
func (e *env) programs(c *cli.Context, list []string) ([]registry.File, error) {
	var out []registry.File
	for _, text := range list {
		platform, path, ok := strings.Cut(text, "=")
		system, arch, two := strings.Cut(platform, "/")
		if !ok || !two || system == "" || arch == "" || path == "" {
			return nil, usage(c, "--platform is OS/ARCH=FILE, such as linux/amd64=bin/fn, not %q", text)
		}
		if slices.ContainsFunc(out, func(f registry.File) bool { return f.Platform == platform }) {
			return nil, usage(c, "--platform %s is given twice", platform)
		}
		data, err := e.readFile(path, maxProgram)
		if err != nil {
			return nil, err
		}
		if why := noProgram(path, platform, data); why != "" {
			return nil, usage(c, "--platform %s=%s: %s", platform, path, why)
		}
		out = append(out, registry.File{Title: filepath.Base(path), Platform: platform, Data: data})
	}
	return out, nil
}

// programStarts returns the first bytes of the programs of a system, and what they are called.
// Nothing is known of a system that is not listed.
func programStarts(system string) ([]string, string) {
	switch system {
	case "linux":
		return []string{"\x7fELF"}, "an ELF program"
	case "darwin":
		return []string{
			"\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", // 32 and 64 bit
			"\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf", // for several architectures
		}, "a Mach-O program"
	case "windows":
		return []string{"MZ"}, "a PE program"
	}
	return []string{""}, ""
}

// noProgram returns why a file is evidently not a program for a platform, "" if it may be one.
func noProgram(path, platform string, data []byte) string {
	head := string(data[:min(4, len(data))])
	starts := func(with []string) bool {
		return slices.ContainsFunc(with, func(s string) bool { return strings.HasPrefix(head, s) })
	}
	system, arch, _ := strings.Cut(strings.ToLower(platform), "/")
	native, what := programStarts(system)
	switch {
	case starts([]string{"#!", "\x1f\x8b", "PK\x03\x04"}): // a script, or an archive with the program
		return ""
	case filepath.Ext(path) == ".star":
		return "a Starlark script is for every platform, push it without --platform: krmcat push REF " + failure.ShellWord(path)
	case !starts(native):
		return "it is neither " + what + " nor a script that begins with #!: name the program that was built for " + system
	case system == "linux" && otherProcessor(arch, data):
		return "it is built for another processor: name the program that was built for " + platform
	}
	return ""
}

// otherProcessor reports whether an ELF program is for another processor than one that is known.
func otherProcessor(arch string, data []byte) bool {
	want, known := map[string]elf.Machine{
		"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64,
		"ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
	}[arch]
	const class, order, machine = elf.EI_CLASS, elf.EI_DATA, 18 // of the header
	if !known || len(data) < machine+2 {
		return known
	}
	is := elf.Machine(binary.LittleEndian.Uint16(data[machine:]))
	if elf.Data(data[order]) == elf.ELFDATA2MSB {
		is = elf.Machine(binary.BigEndian.Uint16(data[machine:]))
	}
	return is != want || want == elf.EM_X86_64 && elf.Class(data[class]) != elf.ELFCLASS64
}
