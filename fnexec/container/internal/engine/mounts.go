package engine

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/sandbox"
)

// mountOptions returns the options for mounts, and those that hide secrets below them.
func (e *Engine) mountOptions(mounts []sandbox.Shown, size int64) ([]string, error) {
	var args []string
	for _, m := range mounts {
		records := [][]string{mountRecord(m.Mount, size)}
		for _, h := range m.Hidden {
			records = append(records, e.hide(path.Join(m.Dst, h.Path), h.Dir))
		}
		for _, record := range records {
			option, err := e.mountOption(record)
			if err != nil {
				return nil, err
			}
			args = append(args, option...)
		}
	}
	return args, nil
}

// hide returns the option that mounts something empty over a path.
func (e *Engine) hide(dst string, dir bool) []string {
	switch {
	case !dir:
		return []string{"type=bind", "source=" + os.DevNull, "target=" + dst, "readonly"}
	case e.name == Podman: // it would copy the hidden files into the tmpfs
		return []string{"type=tmpfs", "target=" + dst, "ro", "notmpcopyup"}
	}
	return []string{"type=tmpfs", "target=" + dst, "readonly"}
}

// mountRecord returns a mount as the fields of an engine's option. size is that of a tmpfs.
func mountRecord(m sandbox.Mount, size int64) []string {
	kind := m.Type
	if kind == "" {
		kind = "bind"
	}
	record := []string{"type=" + kind}
	if m.Src != "" {
		record = append(record, "source="+m.Src)
	}
	record = append(record, "target="+m.Dst)
	switch {
	case kind == "tmpfs":
		record = append(record, "tmpfs-size="+strconv.FormatInt(size, 10))
	case !m.RW:
		record = append(record, "readonly")
	}
	return record
}

// mountOption returns the option that makes a mount.
func (e *Engine) mountOption(record []string) ([]string, error) {
	if e.name == Nerdctl {
		return nerdctlMount(record)
	}
	option, err := csvRecord(record)
	return []string{"--mount", option}, err
}

// nerdctlMount returns the option for nerdctl. It splits --mount at commas, quoted or not, and
// then at colons, so that a part of a path could become an option. It splits --tmpfs at colons
// only.
func nerdctlMount(record []string) ([]string, error) {
	options, splits := []string{"--mount", strings.Join(record, ",")}, ",:\""
	if record[0] == "type=tmpfs" {
		splits, options = ":", []string{"--tmpfs", nerdctlTmpfs(record[1:])}
	}
	for _, field := range record {
		if strings.ContainsAny(field, splits+"\r\n\x00") {
			return nil, fmt.Errorf("the mount %q cannot be written for nerdctl, which accepts no path with one of %s", record, splits)
		}
	}
	return options, nil
}

// nerdctlTmpfs returns the value of --tmpfs.
func nerdctlTmpfs(record []string) string {
	dst, options := "", "mode=1777"
	for _, field := range record {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "target":
			dst = value
		case "tmpfs-size":
			options += ",size=" + value
		case "readonly":
			options += ",ro"
		}
	}
	return dst + ":" + options
}

// csvRecord joins the fields of an option as CSV.
func csvRecord(record []string) (string, error) {
	if strings.ContainsAny(strings.Join(record, ""), "\r\n\x00") {
		return "", fmt.Errorf("the mount %q cannot be written for an engine", record)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(record); err != nil {
		return "", fmt.Errorf("writing the mount %q: %w", record, err)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n"), w.Error()
}
