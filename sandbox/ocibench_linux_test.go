package sandbox

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// BenchmarkOCI is what a run costs.
func BenchmarkOCI(b *testing.B) {
	self := enginetest.Self(b)
	for _, way := range []Way{Runc, Crun} {
		b.Run(string(way), func(b *testing.B) {
			program, err := exec.LookPath(string(way))
			if err != nil {
				b.Skip(err)
			}
			busybox := needs(b, "busybox")
			e := newOCI(way, program, NewHost(HostOptions{Self: self, Environ: []string{"TMPDIR=" + b.TempDir()}}).options)
			j := job{path: "/bin/busybox", args: []string{"true"}, dir: "/", env: []string{}, uid: nobody, gid: nobody, limits: Limits{}.OrDefault(), view: []op{
				{kind: opBind, src: filepath.Dir(busybox), dst: "/bin"}, {kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev"}, {kind: opTmpfs, dst: "/tmp", write: true, size: 1 << 20}}}
			for b.Loop() {
				p, err := e.prepare(b.Context(), j)
				if err != nil {
					b.Fatal(err)
				}
				_, err = startAndWait(p.cmd)
				if err := p.settle(err); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
