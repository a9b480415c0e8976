package judge

import (
	"encoding/hex"
	"fmt"
	"time"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// logsCover refuses log entries that were made outside the validity of their log: a key that leaked
// after its end must not attest entries. sigstore-go checks it only for entries with a promise,
// which can be omitted.
//
// The time of an entry comes from its promise, or else from a timestamp authority, or else it is
// now: the time in an entry without a promise is not attested. sigstore-go verifies the promise,
// and ignores an invalid one.
func (j *judge) logsCover(e *entity, entries []*protorekor.TransparencyLogEntry) error {
	var stamped []time.Time
	for _, entry := range entries {
		id := hex.EncodeToString(entry.GetLogId().GetKeyId())
		if len(entry.GetInclusionPromise().GetSignedEntryTimestamp()) > 0 {
			if err := j.logCovers(id, time.Unix(entry.GetIntegratedTime(), 0)); err != nil {
				return err
			}
			continue
		}
		if stamped == nil {
			stamped = j.stampsOf(e)
		}
		for _, t := range stamped {
			if err := j.logCovers(id, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// stampsOf returns the times at which authorities of the trusted root attest the bundle, or else
// now.
func (j *judge) stampsOf(e *entity) []time.Time {
	found, err := sigverify.VerifySignedTimestampWithThreshold(e, j.root, 1)
	if err != nil || len(found) == 0 {
		return []time.Time{time.Now()}
	}
	out := make([]time.Time, 0, len(found))
	for _, t := range found {
		out = append(out, t.Time)
	}
	return out
}

// logCovers refuses a time outside the validity of a log in the trusted root. id is the ID of its
// key in hexadecimal digits. Other checks refuse logs that are not in the root.
func (j *judge) logCovers(id string, at time.Time) error {
	log, ok := j.root.RekorLogs()[id]
	if !ok {
		return nil
	}
	begin, end := log.ValidityPeriodStart, log.ValidityPeriodEnd
	switch {
	case !begin.IsZero() && at.Before(begin):
		return fmt.Errorf("the trusted root accepts the transparency log from %s on, but the entry is of %s", stampText(begin), stampText(at))
	case !end.IsZero() && at.After(end):
		return fmt.Errorf("the trusted root accepts the transparency log until %s, and the entry is of %s", stampText(end), stampText(at))
	}
	return nil
}
