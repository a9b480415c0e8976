package judge

import (
	"encoding/hex"
	"fmt"
	"time"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// logsCover refuses log entries that were made when their log was not believed: a key that
// leaked after it was retired would go on vouching. sigstore-go looks at that only where the
// log promised the entry, and a promise can be left out.
//
// When an entry was made is for its promise to say, else for a timestamp authority. Where
// neither does it is now: the time that an entry without a promise states is nobody's word.
// That the promise is genuine is for sigstore-go to see, which passes over one that is not.
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

// stampsOf is when the authorities of the trusted root say that a bundle was signed, and now
// where none says it.
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

// logCovers refuses a time at which the trusted root does not believe a log, which is named by
// the ID of its key in hexadecimal digits. Logs that are not in the root are for others to
// refuse.
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
