package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	firstGC  = 300       // percent: Go collects for the first time at 4 MiB times this
	wideGC   = 400       // percent that the heap may grow between collections while it is small
	usualGC  = 100       // Go's own default
	wideHeap = 256 << 20 // bytes in use up to which a heap counts as small
)

// TuneGC lets the heap grow further between collections while it is small: a render is a
// short-lived process that allocates much and keeps little, and a third of its time went
// to collecting. Above wideHeap it goes back to Go's default, so that a large render does
// not take five times what it needs; that is gentler than a memory limit, which collects
// without end once the live heap reaches it. A user who sets GOGC or GOMEMLIMIT decides.
func TuneGC(p Process) {
	if p.getenv("GOGC") != "" || p.getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(firstGC) // a small render ends before, and touches no more memory than it must
	watchHeap()
}

// watchHeap looks at the heap after each collection, by way of an object that nothing
// refers to, until it has grown large once.
func watchHeap() {
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > wideHeap {
			debug.SetGCPercent(usualGC)
			return
		}
		debug.SetGCPercent(wideGC)
		watchHeap()
	})
}
