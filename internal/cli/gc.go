package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	firstGC  = 300       // percent: Go collects for the first time at 4 MiB times this
	wideGC   = 400       // percent that the heap may grow between collections while it is small
	leastGC  = 50        // percent that it may grow at least: to collect without end is no use
	wideHeap = 256 << 20 // bytes that it may grow in all, while that is between the two
)

// TuneGC lets the heap grow further between collections while it is small: a render is a
// short-lived process that allocates much and keeps little, and a third of its time went
// to collecting. A larger one may grow by so many bytes, so that a large render does not take
// five times what it needs; that is gentler than a memory limit, which collects without end
// once the live heap reaches it. A user who sets GOGC or GOMEMLIMIT decides.
func TuneGC(p Process) {
	if p.getenv("GOGC") != "" || p.getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(firstGC) // a small render ends before, and touches no more memory than it must
	watchHeap()
}

// watchHeap looks at the heap after each collection, by way of an object that nothing
// refers to.
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

// growth is by how many percent a heap of so many bytes in use may grow.
func growth(live uint64) int {
	percent := uint64(wideGC)
	if live > 0 {
		percent = wideHeap * 100 / live
	}
	return int(min(wideGC, max(leastGC, percent)))
}
