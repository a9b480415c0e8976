package cosign_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// believed returns a trusted root with another validity of the log, which may have no end.
func believed(t *testing.T, root []byte, begin, end time.Time) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(root, &m); err != nil {
		t.Fatal(err)
	}
	span := map[string]any{"start": begin.UTC().Format(time.RFC3339Nano)}
	if !end.IsZero() {
		span["end"] = end.UTC().Format(time.RFC3339Nano)
	}
	logs, _ := m["tlogs"].([]any)
	for _, l := range logs {
		inside(l.(map[string]any), "publicKey")["validFor"] = span
	}
	out, err := json.Marshal(m)
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	return out
}

// TestLogsOfAnotherTime limits the validity of the log. Entries of other times are not accepted,
// with and without a signed entry timestamp.
func TestLogsOfAnotherTime(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	now := time.Now()
	long, none := now.Add(-1000*time.Hour), time.Time{}
	old := sigtest.Behaviour{CertificateAge: 60 * minute, LogAge: 55 * minute}
	unpromised := sigtest.Behaviour{WithoutPromise: true}
	const over, early = "the trusted root accepts the transparency log until ", "the trusted root accepts the transparency log from "
	for name, tc := range map[string]struct {
		does           sigtest.Behaviour
		begin, end     time.Time
		stamped        bool
		bundle, legacy string
		from           string // the source of the time
	}{
		"promised, over since":        {does: old, begin: long, end: now.Add(-30 * minute), from: "transparency log"},
		"promised, over before":       {does: old, begin: long, end: now.Add(-58 * minute), bundle: over, legacy: over},
		"promised, from later on":     {does: old, begin: now.Add(-50 * minute), bundle: early, legacy: early},
		"promised, without an end":    {begin: long, end: none, from: "transparency log"},
		"promised, stamped, over":     {begin: long, end: now.Add(-30 * minute), stamped: true, bundle: over, legacy: over},
		"proven, stamped":             {does: unpromised, begin: long, stamped: true, from: "timestamp authority", legacy: "its log entry is incomplete"},
		"proven, stamped, over":       {does: unpromised, begin: long, end: now.Add(-30 * minute), stamped: true, bundle: over, legacy: "its log entry is incomplete"},
		"proven, stamped, not begun":  {does: unpromised, begin: now.Add(time.Hour), stamped: true, bundle: early, legacy: "its log entry is incomplete"},
		"proven, nobody says when":    {does: unpromised, begin: long, end: now.Add(-30 * minute), bundle: over, legacy: "its log entry is incomplete"},
		"proven, and says it was old": {does: sigtest.Behaviour{WithoutPromise: true, LogAge: 55 * minute}, begin: long, end: now.Add(-30 * minute), stamped: true, bundle: over, legacy: "its log entry is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(tc.does)
			d := byIdentity(s)
			d.TrustedRoot = believed(t, d.TrustedRoot, tc.begin, tc.end)
			claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a", Timestamp: tc.stamped}
			for form, made := range map[string]registry.Attachment{"bundle": s.Bundle(claim), "legacy": s.Legacy(claim)} {
				reason := tc.bundle
				if form == "legacy" {
					reason = tc.legacy
				}
				v := judge(t, build(t, d), subject, made)
				if reason != "" {
					refused(t, v, reason)
					continue
				}
				if got := accepted(t, v); !got.Logged || got.TimeFrom != tc.from {
					t.Errorf("%s: got %+v", form, got)
				}
			}
		})
	}
}

// TestLogThatEndedSince has a timestamp of a time when the log was valid.
func TestLogThatEndedSince(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	const ago = 30 * time.Second
	s.Behave(sigtest.Behaviour{WithoutPromise: true, StampAge: ago, CertificateAge: time.Minute})
	made := s.Bundle(sigtest.Claim{Who: alice(), Digest: subject, Timestamp: true})
	// After the time of the timestamp, and before now.
	end := time.Now().Add(-ago)
	d := byIdentity(s)
	d.TrustedRoot = believed(t, d.TrustedRoot, end.Add(-time.Hour), end)
	accepted(t, judge(t, build(t, d), subject, made))
	unstamped := edited(t, made, func(m map[string]any) {
		delete(inside(m, "verificationMaterial"), "timestampVerificationData")
	})
	refused(t, judge(t, build(t, d), subject, unstamped), "the trusted root accepts the transparency log until ")
}

// TestLogOfAnotherTimeByKey does the same for a signature by key, for which nothing else requires a
// time.
func TestLogOfAnotherTimeByKey(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.Behave(sigtest.Behaviour{LogAge: 55 * time.Minute})
	bundle, legacy := keyBundle(t, key, s), keyLegacy(t, key, s)
	unpromised := edited(t, bundle, func(m map[string]any) {
		e, _ := inside(m, "verificationMaterial")["tlogEntries"].([]any)
		delete(e[0].(map[string]any), "inclusionPromise")
	})
	emptied := edited(t, bundle, func(m map[string]any) {
		e, _ := inside(m, "verificationMaterial")["tlogEntries"].([]any)
		e[0].(map[string]any)["inclusionPromise"] = map[string]any{"signedEntryTimestamp": ""}
	})
	const over = "the trusted root accepts the transparency log until "
	for name, tc := range map[string]struct {
		end                         time.Time
		bundle, legacy, nothingElse string
	}{
		"believed":  {},
		"over":      {now.Add(-58 * time.Minute), over, over, over},
		"over soon": {now.Add(-30 * time.Minute), "", "", over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := believed(t, s.TrustedRoot(), now.Add(-1000*time.Hour), tc.end)
			d := cosign.Demand{Keys: []cosign.Key{{Name: "k", PEM: []byte(public)}}, TrustedRoot: root}
			for _, c := range []struct {
				found  registry.Attachment
				reason string
			}{{bundle, tc.bundle}, {legacy, tc.legacy}, {unpromised, tc.nothingElse}, {emptied, tc.nothingElse}} {
				v := judge(t, build(t, d), subject, c.found)
				if c.reason != "" {
					refused(t, v, c.reason)
				} else {
					accepted(t, v)
				}
				d := d
				d.InsecureIgnoreTlog = true // nothing is checked then
				accepted(t, judge(t, build(t, d), subject, c.found))
			}
		})
	}
}
