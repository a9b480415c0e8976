package container

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
)

// BenchmarkFirst is the first use of an image of one program, from a registry on loopback:
// fetched, checked and unpacked.
func BenchmarkFirst(b *testing.B) {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		b.Fatal(err)
	}
	layer := zip(b, pack(b, regular("fn", string(self))))
	b.SetBytes(int64(len(layer)))
	a := publish(b, regtest.Serve(b), "", layer)
	for b.Loop() {
		dir := b.TempDir()
		if _, err := newImages(dir, imageLimits{}).get(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = os.RemoveAll(dir)
		b.StartTimer()
	}
}

// BenchmarkAgain is every further use: the image is compared with its index.
func BenchmarkAgain(b *testing.B) {
	for name, n := range map[string]int{"one file": 1, "10000 files": 10_000} {
		b.Run(name, func(b *testing.B) {
			s := newImages(b.TempDir(), imageLimits{})
			a := publish(b, regtest.Serve(b), "", pack(b, many(n)...))
			if _, err := s.get(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.get(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "files")
		})
	}
}
