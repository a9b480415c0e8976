package image

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/krmcat/krmcat/registry"
)

const (
	// fetchWorkers is how many layers are fetched ahead at a time.
	fetchWorkers = 2
	// fetchAhead is how many fetched layers wait on disk, of at most fetchSize bytes each. Larger
	// layers are fetched while they are unpacked.
	fetchAhead = 4
	fetchSize  = 128 << 20
)

// layerFetch delivers the layers of an image in order, and fetches some of them ahead.
type layerFetch struct {
	artifact registry.Artifact
	dir      string // for layers that wait
	layers   []layerSlot
	room     chan struct{} // one token for each layer that waits
	workers  sync.WaitGroup
	next     atomic.Int64
}

// layerSlot is one layer. The first that claims it fetches it.
type layerSlot struct {
	taken atomic.Bool
	done  chan struct{}
	file  *os.File // verified; at its start
	err   error
}

// startFetch starts to fetch all layers but the first. The caller must call close, after
// cancelling the context if there was an error.
func startFetch(ctx context.Context, a registry.Artifact, dir string) *layerFetch {
	f := &layerFetch{artifact: a, dir: dir, layers: make([]layerSlot, len(a.Files)), room: make(chan struct{}, fetchAhead)}
	f.next.Store(1)
	for i := range f.layers {
		f.layers[i].done = make(chan struct{})
	}
	for range min(fetchWorkers, len(a.Files)-1) {
		f.workers.Go(func() { f.work(ctx) })
	}
	return f
}

func (f *layerFetch) work(ctx context.Context) {
	for {
		select {
		case f.room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		slot := f.claim()
		if slot < 0 {
			<-f.room
			return
		}
		l := &f.layers[slot]
		l.file, l.err = f.download(ctx, slot)
		close(l.done)
	}
}

// claim takes the next layer to fetch ahead; -1 if there is none.
func (f *layerFetch) claim() int {
	for {
		i := int(f.next.Add(1) - 1)
		if i >= len(f.layers) {
			return -1
		}
		if f.artifact.Files[i].Size <= fetchSize && !f.layers[i].taken.Swap(true) {
			return i
		}
	}
}

// download fetches a whole layer, which verifies its digest. The file is unlinked at once, so
// that only its descriptor leads to it.
func (f *layerFetch) download(ctx context.Context, i int) (*os.File, error) {
	rc, err := f.artifact.Open(ctx, f.artifact.Files[i])
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	out, err := os.CreateTemp(f.dir, "layer-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(out.Name()) // Windows refuses: it is removed with its directory
	if _, err = io.Copy(out, rc); err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return out, nil
}

// open returns the compressed bytes of a layer. Reading fails at the end if they do not have its
// digest. Layers are opened in order.
func (f *layerFetch) open(ctx context.Context, i int) (io.ReadCloser, error) {
	l := &f.layers[i]
	if !l.taken.Swap(true) {
		return f.artifact.Open(ctx, f.artifact.Files[i])
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.err != nil {
		return nil, l.err
	}
	return &layerFile{File: l.file, room: f.room}, nil
}

// close waits for the workers. The caller removes the directory.
func (f *layerFetch) close() {
	f.workers.Wait()
	for i := range f.layers {
		if file := f.layers[i].file; file != nil {
			_ = file.Close() // it may be closed already
		}
	}
}

// layerFile is a layer that was fetched ahead. Closing it makes room for another one.
type layerFile struct {
	*os.File
	room chan struct{}
}

// Close closes the file. It implements io.Closer.
func (f *layerFile) Close() error {
	err := f.File.Close()
	<-f.room
	return err
}
