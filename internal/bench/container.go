package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
)

const (
	// firstWithin limits the time of the first use of an image, relative to crane and tar, which
	// fetch and unpack it.
	firstWithin = 1.2
	// secondWithin limits the time of every further use, relative to a render with a small image.
	secondWithin = 1.2
	// largeImage is the compressed size of the layer of the large image, in bytes.
	largeImage = 12 << 20
)

// firstRun measures the first render with an image, which has to fetch and unpack it, and the
// second.
type firstRun struct{ copier string }

func (firstRun) String() string {
	return fmt.Sprintf("first run of a container image of %d MB", largeImage>>20)
}

// measure implements testCase.
func (f firstRun) measure(ctx context.Context, o options, dir string) (row, error) {
	images, err := startImages(ctx, o, dir)
	if err != nil {
		return row{}, err
	}
	defer images.stop()
	refs := map[string]string{}
	for name, size := range map[string]int{"small": 0, "large": largeImage} {
		if refs[name], err = images.push(ctx, name, f.copier, size); err != nil {
			return row{}, err
		}
		if err := (input{resources: 10, functions: 1, image: refs[name]}).write(filepath.Join(dir, name)); err != nil {
			return row{}, err
		}
	}
	render := func(name, cache string) program {
		return program{
			dir: filepath.Join(dir, name), cache: filepath.Join(dir, cache),
			argv: []string{o.krmcat, "render", "--enable-alpha-plugins", "."},
		}
	}
	first := render("large", "cold")
	first.fresh = first.cache
	unpacked := filepath.Join(dir, "unpacked")
	crane := program{
		dir: dir, fresh: unpacked,
		argv: []string{"bash", "-c", `set -o pipefail; "$0" export "$1" - | tar x -C "$2"`, o.crane, refs["large"], unpacked},
	}
	second, small := render("large", "warm"), render("small", "warm")
	if absent := f.runs(ctx, first, second, small); absent != nil {
		r := row{what: f.String(), krmcat: way{absent: absent}.cost(), target: fmt.Sprintf("≤ %.2f", firstWithin), missed: true}
		return r, nil
	}
	took, err := inTurn(ctx, o.rounds, first, crane, second, small)
	if err != nil {
		return row{}, err
	}
	r := comparison{what: f.String() + " with an empty cache, compared with crane export piped into tar x", within: firstWithin}.row(took[0], took[1])
	again := comparison{what: "second run of it, compared with a small image", within: secondWithin}.row(took[2], took[3])
	r.more = []row{again}
	return r, nil
}

// runs checks that this machine can run images without a daemon, and that all programs print the
// same.
func (firstRun) runs(ctx context.Context, programs ...program) error {
	var want []byte
	for _, p := range programs {
		if err := p.prepare(); err != nil {
			return err
		}
		got, err := p.run(ctx)
		if err != nil {
			return err
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%w: %q", errDiffer, p.argv)
		}
	}
	return nil
}
