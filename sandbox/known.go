package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
)

// A trial takes as long as a function that does nothing. So krmcat records in its cache that the
// first engine worked, and relies on it until something changes that may decide it. A record never
// replaces confinement: a process that relies on it is confined by that engine, or is not started.
// Failures are not recorded (docs/adr/0030).

// record returns the file that records that an engine works, and what it says under the present
// circumstances; "" where nothing is recorded.
func (h *Host) record(w Engine) (path, text string) {
	now := circumstances()
	if h.options.CacheDir == "" || now == "" || h.options.Whole {
		return "", ""
	}
	self, err := os.Stat(h.options.Self)
	if err != nil {
		return "", ""
	}
	text = fmt.Sprintf("%s\n%s %d %d\n%s", w, h.options.Self, self.Size(), self.ModTime().UnixNano(), now)
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(h.options.CacheDir, "engines", string(w)), hex.EncodeToString(sum[:])
}

// recorded returns the engine if there is a record that it works.
func (h *Host) recorded(w Engine) (confiner, bool) {
	path, text := h.record(w)
	if path == "" {
		return nil, false
	}
	f, err := ownfile.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := bounded.Read(f, int64(len(text)))
	if err != nil || string(data) != text {
		return nil, false
	}
	e, err := newConfiner(w, h.options)
	return e, err == nil
}

// keep records that an engine works. Without a record the next command tries it again.
func (h *Host) keep(w Engine) {
	path, text := h.record(w)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = scratch.File{Path: path, Mode: 0o600, In: filepath.Dir(path)}.Write([]byte(text))
}

// forget removes the record of an engine.
func (h *Host) forget(w Engine) error {
	path, _ := h.record(w)
	if path == "" {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// confirm returns the error of a process. If the engine was relied on and failed before the process
// was started, it is tried now. If it does not work any more, the record is removed, and the error
// is an *UnconfinedError. If ctx has ended, the engine may hang: the record is removed too, and the
// next command tries the engine.
func (h *Host) confirm(ctx context.Context, err error) error {
	var failed *EngineError
	if !errors.As(err, &failed) || !failed.early {
		return err
	}
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if !h.relied {
		return err
	}
	tried := context.Cause(ctx)
	if tried == nil {
		tried = tryFor(ctx, h.found)
	}
	if tried == nil {
		h.relied = false
		return err
	}
	kept := h.forget(h.engine)
	if ctx.Err() != nil {
		return err
	}
	none := &UnconfinedError{oneReason([]Missing{{h.engine, tried}})}
	if kept != nil {
		return fmt.Errorf("%w (it worked before, and its record cannot be removed: %w)", none, kept)
	}
	return fmt.Errorf("%w (it worked before: run the same command again, to try the other engines)", none)
}
