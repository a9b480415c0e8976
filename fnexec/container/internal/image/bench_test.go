package image

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
)

// BenchmarkFirst measures the first use of an image of one program, from a registry on loopback:
// fetching, verifying and unpacking.
func BenchmarkFirst(b *testing.B) {
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		b.Fatal(err)
	}
	layer := zip(b, pack(b, regular("fn", string(self))))
	b.SetBytes(int64(len(layer)))
	a := publish(b, regtest.Serve(b), "", layer)
	for b.Loop() {
		dir := cacheDir(b)
		if _, err := newStore(dir, bounds{}).get(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = os.RemoveAll(dir)
		b.StartTimer()
	}
}

// BenchmarkAgain measures the first use in another process, which compares the image with its
// index, and further uses.
func BenchmarkAgain(b *testing.B) {
	for _, bench := range []struct {
		name  string
		files int
		same  bool
	}{{"one file", 1, false}, {"10000 files", 10_000, false}, {"10000 files, the same process", 10_000, true}} {
		b.Run(bench.name, func(b *testing.B) {
			n := bench.files
			s := newStore(cacheDir(b), bounds{})
			a := publish(b, regtest.Serve(b), "", pack(b, many(n)...))
			if _, err := s.get(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if !bench.same {
					s = another(s)
				}
				if _, err := s.get(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "files")
		})
	}
}

// BenchmarkVerified measures the first use in another process of an image of 12 MB with one
// program: by its metadata, and by its content, for which its layer is fetched from a registry
// on loopback.
func BenchmarkVerified(b *testing.B) {
	program := make([]byte, 12<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(program[:len(program)/2]) // the rest compresses well
	layer := zip(b, pack(b, regular("fn", string(program))))
	for _, bench := range []struct {
		name   string
		verify string
	}{{"by stamp", ""}, {"by content", "--verify-cache"}} {
		b.Run(bench.name, func(b *testing.B) {
			s := newStore(cacheDir(b), bounds{})
			a := publish(b, regtest.Serve(b), "", layer)
			if _, err := s.get(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s = another(s)
				s.verify = bench.verify
				if _, err := s.get(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
