package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// closed lists the files and directories below dir that other users may not read.
func closed(dir string) []string {
	const read, search = 0o004, 0o001 // by others
	var out []string
	entries, _ := os.ReadDir(dir) // what cannot be listed cannot be read through it either
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil:
		case e.IsDir() && info.Mode()&search != 0:
			out = append(out, closed(p)...)
		case e.IsDir(), e.Type().IsRegular() && info.Mode()&read == 0:
			out = append(out, p)
		}
	}
	return out
}

// homeOf looks up a user's home directory in /etc/passwd. HOME may say otherwise.
func homeOf(uid int) (string, bool) {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) > 5 && f[2] == strconv.Itoa(uid) && filepath.IsAbs(f[5]) {
			return f[5], true
		}
	}
	return "", false
}
