package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	firstGC  = 300       // percent: Go collects for the first time at 4 MiB times this
	wideGC   = 400       // percent that the heap may grow between collections while it is small
	leastGC  = 50        // percent that it may grow at least, or it would be collected all the time
	wideHeap = 256 << 20 // bytes that it may grow, within these percentages
)

// TuneGC reduces garbage collection while the heap is small: a render is a short process that
// allocates much and keeps little, and a third of its time went to collection. A larger heap may
// grow by a fixed number of bytes, so that a large render does not use five times the memory that
// it needs. A memory limit would collect all the time once the live heap reaches it. GOGC and
// GOMEMLIMIT override this.
func TuneGC(p Process) {
	if p.getenv("GOGC") != "" || p.getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(firstGC) // a small render ends before the first collection
	watchHeap()
}

// watchHeap sets the growth after each collection, by the finalizer of an unreferenced object.
func watchHeap() {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			debug.SetGCPercent(growth(live[0].Value.Uint64()))
		}
		watchHeap()
	})
}

// growth returns the percentage by which a heap with this number of live bytes may grow.
func growth(live uint64) int {
	percent := uint64(wideGC)
	if live > 0 {
		percent = wideHeap * 100 / live
	}
	return int(min(wideGC, max(leastGC, percent)))
}
