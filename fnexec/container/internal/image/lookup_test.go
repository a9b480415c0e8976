package image

import (
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	program := func(name string) member {
		m := regular(name, "#!")
		m.Mode = 0o755
		return m
	}
	got, err := unpackLayers(t, bounds{}, pack(t,
		program("bin/busybox"), symlink("bin/sh", "/bin/busybox"), symlink("sbin", "../../bin"), regular("bin/data", ""),
		program("app/run"), program("usr/bin/tool"), regular("sbin2/tool", ""), directory("app/dir"), symlink("app/gone", "/etc/passwd"),
		symlink("app/loop", "loop"), symlink("out", "/../../../../../../../../etc")))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ name, path, dir, want, real, says string }{
		"absolute":                           {name: "/bin/busybox", want: "/bin/busybox", real: "/bin/busybox"},
		"a link":                             {name: "/bin/sh", want: "/bin/sh", real: "/bin/busybox"},
		"along PATH":                         {name: "sh", want: "/sbin/sh", real: "/bin/busybox"},
		"along the image's PATH":             {name: "sh", path: "/none:/bin", want: "/bin/sh", real: "/bin/busybox"},
		"after a file that is not a program": {name: "tool", path: "/sbin2:/usr/bin", want: "/usr/bin/tool", real: "/usr/bin/tool"},
		"only a file that is not a program":  {name: "tool", path: "/none:/sbin2", says: "not executable"},
		"in an empty element of PATH":        {name: "run", path: "/none:", dir: "/app", want: "/app/run", real: "/app/run"},
		"from the working dir":               {name: "./run", dir: "/app", want: "/app/./run", real: "/app/run"},
		"from the root":                      {name: "app/run", want: "/app/run", real: "/app/run"},
		"above the root":                     {name: "../../bin/sh", want: "/../../bin/sh", real: "/bin/busybox"},
		"missing":                            {name: "/none", says: "does not exist"},
		"missing in PATH":                    {name: "none", says: "not in the image's PATH"},
		"no command":                         {name: "", says: "names none"},
		"a directory":                        {name: "/app/dir", says: "is a directory"},
		"not executable":                     {name: "/bin/data", says: "not executable"},
		"a link to the outside":              {name: "/app/gone", says: "does not exist"},
		"through a link to the outside":      {name: "/out/passwd", says: "does not exist"},
		"a circle of links":                  {name: "/app/loop", says: "more than 255 links"},
		"through a file":                     {name: "/bin/busybox/x", says: "is a file"},
	} {
		i := got
		i.config.WorkingDir = "/" + strings.TrimPrefix(tc.dir, "/")
		if tc.path != "" {
			i.config.Env = []string{"PATH=/overwritten", "PATH=" + tc.path}
		}
		p, err := i.lookup(tc.name)
		switch {
		case tc.says != "" && (!isA[*fnexec.ProgramError](err) || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %+v, %v", name, p, err)
		case tc.says == "" && (err != nil || p.path != tc.want || p.real != tc.real):
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	c := imageConfig{Entrypoint: []string{"a", "b"}, Cmd: []string{"c"}}
	if got := strings.Join(c.argv(Command{}), " ") + "|" + strings.Join(c.argv(Command{Args: []string{"d"}}), " "); got != "a b c|a b d" {
		t.Error(got)
	}
}
