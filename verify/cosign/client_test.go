package cosign_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
	judging "github.com/krmcat/krmcat/verify/cosign/judge"
)

// local returns a judge in this process, with the same protocol as one in another process.
func local() *cosign.Method { return cosign.New(judging.Dial) }

// liar is a judge with given answers. It ends at nil.
func liar(answer func(q cosign.Request) any) *cosign.Method {
	return cosign.New(func(context.Context) (io.ReadWriteCloser, error) {
		ours, its := net.Pipe()
		go func() {
			defer func() { _ = its.Close() }()
			for {
				var q cosign.Request
				if cosign.Receive(its, &q) != nil {
					return
				}
				switch a := answer(q).(type) {
				case nil:
					return
				case []byte:
					_, _ = its.Write(a)
					return
				default:
					if cosign.Send(its, a) != nil {
						return
					}
				}
			}
		}()
		return ours, nil
	})
}

// raw is a message of arbitrary bytes.
func raw(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// TestLyingJudge checks that an answer to another question, one that is truncated, and one without
// reasons are errors, and never accept anything.
func TestLyingJudge(t *testing.T) {
	t.Parallel()
	signed := []verify.Signature{{Form: "bundle", Verified: true}}
	yes := cosign.Verdict{Subject: subject, Satisfied: true, Needed: 1, Signatures: signed}
	verdict := func(change func(v *cosign.Verdict)) func(q cosign.Request) any {
		return func(q cosign.Request) any {
			v := yes
			change(&v)
			return cosign.Response{ID: q.ID, Verdict: &v}
		}
	}
	for name, tc := range map[string]struct {
		answer    func(q cosign.Request) any
		threshold int
	}{
		"dies":           {answer: func(cosign.Request) any { return nil }},
		"nothing":        {answer: func(q cosign.Request) any { return cosign.Response{ID: q.ID} }},
		"another answer": {answer: func(q cosign.Request) any { return cosign.Response{ID: q.ID, Public: []byte("x")} }},
		"late":           {answer: func(q cosign.Request) any { return cosign.Response{ID: q.ID - 1, Verdict: &yes} }},
		"not JSON":       {answer: func(cosign.Request) any { return raw("yes") }},
		"empty":          {answer: func(cosign.Request) any { return raw("") }},
		"unknown field":  {answer: func(cosign.Request) any { return raw(`{"id":2,"trusted":true}`) }},
		"something more": {answer: func(cosign.Request) any { return raw(`{"id":2}{}`) }},
		"cut short":      {answer: func(cosign.Request) any { return []byte{0, 0, 0, 9, '{'} }},
		"too long":       {answer: func(cosign.Request) any { return []byte{255, 255, 255, 255, '{'} }},
		"asks": {answer: func(q cosign.Request) any {
			return cosign.Response{ID: q.ID, Ask: &cosign.Ask{URL: "http://127.0.0.1"}}
		}},
		"empty verdict":   {answer: func(q cosign.Request) any { return cosign.Response{ID: q.ID, Verdict: &cosign.Verdict{}} }},
		"another subject": {answer: verdict(func(v *cosign.Verdict) { v.Subject = another })},
		"no word for it":  {answer: verdict(func(v *cosign.Verdict) { v.Satisfied = false })},
		"in spite of":     {answer: verdict(func(v *cosign.Verdict) { v.Reasons = verify.Because("nobody signed it") })},
		"unsigned":        {answer: verdict(func(v *cosign.Verdict) { v.Signatures = nil })},
		"unverified":      {answer: verdict(func(v *cosign.Verdict) { v.Signatures = []verify.Signature{{Form: "bundle"}} })},
		"too few":         {answer: verdict(func(v *cosign.Verdict) { v.Needed = 2 }), threshold: 2},
		"fewer needed":    {answer: verdict(func(*cosign.Verdict) {}), threshold: 2},
		"one key twice": {answer: verdict(func(v *cosign.Verdict) {
			v.Needed, v.Signatures = 2, []verify.Signature{{Form: "bundle", Key: "a", Verified: true}, {Form: "legacy", Key: "a", Verified: true}}
		}), threshold: 2},
		"honest": {answer: verdict(func(*cosign.Verdict) {})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := liar(func(q cosign.Request) any {
				if q.Op == cosign.OpBuild {
					return cosign.Response{ID: q.ID, Judge: &cosign.Description{Text: "a signature"}}
				}
				return tc.answer(q)
			})
			j, err := m.Build(cosign.Demand{Threshold: tc.threshold, InsecureIgnoreTlog: true})
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Judge(t.Context(), subject, nil)
			if name == "honest" {
				accepted(t, v)
				return
			}
			if !errors.Is(err, failure.Untrusted) || len(v.Signatures) > 0 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestJudgeStartsAgain checks that a new judge is started after one that died, and that one that
// cannot be started is an error.
func TestJudgeStartsAgain(t *testing.T) {
	t.Parallel()
	dead := true
	m := liar(func(q cosign.Request) any {
		if dead {
			return nil
		}
		return cosign.Response{ID: q.ID, Judge: &cosign.Description{Text: "a signature"}}
	})
	if _, err := m.Build(cosign.Demand{}); err == nil {
		t.Error("nobody answered, and it was built")
	}
	dead = false
	if _, err := m.Build(cosign.Demand{}); err != nil {
		t.Error(err)
	}
	for _, dial := range []cosign.Dial{nil, func(context.Context) (io.ReadWriteCloser, error) { return nil, fs.ErrNotExist }} {
		if _, err := cosign.New(dial).Build(cosign.Demand{}); !errors.Is(err, failure.Untrusted) {
			t.Errorf("there is no judge: %v", err)
		}
	}
}

// TestJudgeIsEnded checks that a cancelled call does not wait for the judge.
func TestJudgeIsEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	m := liar(func(q cosign.Request) any {
		if q.Op == cosign.OpBuild {
			return cosign.Response{ID: q.ID, Judge: &cosign.Description{}}
		}
		cancel(io.ErrNoProgress)
		<-gone
		return nil
	})
	j, err := m.Build(cosign.Demand{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Judge(ctx, subject, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
}

// line is a connection that calls a function after a read. It records that it was closed.
type line struct {
	io.ReadWriteCloser
	read   func()
	closed chan struct{}
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	l.read()
	return n, err
}

func (l *line) Close() error {
	l.closed <- struct{}{}
	return nil
}

// TestJudgeIsNotAskedAgain checks that the connection of a cancelled call is not used again, even
// if the answer came before, and that Close closes the open one.
func TestJudgeIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	_, public, err := local().GenerateKey("ed25519", nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []*line
	m := cosign.New(func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := judging.Dial(ctx)
		t.Cleanup(func() { _ = c.Close() })
		lines = append(lines, &line{c, func() {}, make(chan struct{}, 9)})
		return lines[len(lines)-1], err
	})
	j, err := m.Build(cosign.Demand{Keys: []cosign.Key{{PEM: public}}, InsecureIgnoreTlog: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	lines[0].read = func() { cancel(io.ErrNoProgress) } // the answer comes
	if _, err := j.Judge(ctx, subject, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
	<-lines[0].closed
	if _, err := j.Judge(t.Context(), subject, nil); err != nil || len(lines) != 2 {
		t.Fatalf("%d judges were started: %v", len(lines), err)
	}
	m.Close()
	m.Close() // there is no more data
	if len(lines[1].closed) != 1 {
		t.Error("it was not closed")
	}
}

// TestJudgeAsks checks that a judge reaches only the services of the request, a limited number of
// times.
func TestJudgeAsks(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int{
		"https://ca.example/api/v2/signingCert": 16,
		"https://ca.example":                    16,
		"https://ca.example.org/":               0,
		"https://other.example/":                0,
		"":                                      0,
	} {
		asked := 0
		m := cosign.New(func(context.Context) (io.ReadWriteCloser, error) {
			ours, its := net.Pipe()
			go func() {
				defer func() { _ = its.Close() }()
				var q cosign.Request
				err := cosign.Receive(its, &q)
				if q.Op == cosign.OpKeyless {
					err = errors.Join(cosign.Send(its, cosign.Response{ID: q.ID}), cosign.Receive(its, &q))
				}
				for err == nil {
					err = cosign.Send(its, cosign.Response{ID: q.ID, Ask: &cosign.Ask{Method: http.MethodGet, URL: url}})
					err = errors.Join(err, cosign.Receive(its, &cosign.Answer{}))
				}
			}()
			return ours, nil
		})
		signer, err := m.NewKeyless(cosign.KeylessOptions{
			FulcioURL: "https://ca.example/", RekorURL: "https://log.example",
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { asked++; return nil, io.ErrNoProgress }),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signer.Sign(t.Context(), cosign.Claim{Digest: subject}); !errors.Is(err, failure.Untrusted) || asked != want {
			t.Errorf("%q: asked %d times, %v", url, asked, err)
		}
	}
}

// TestJudgeReads checks that a malformed request ends a judge, if possible with an error message.
func TestJudgeReads(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", string(raw(`{"id":7,"op":"x"}`)), string(raw(`{"unknown":1}`)), "\x00\x00\x00\x05{", "\xff\xff\xff\xff"} {
		var out strings.Builder
		err := judging.Serve(t.Context(), strings.NewReader(in), &out)
		if known := in == "" || strings.Contains(in, "op"); (err == nil) != known || strings.Contains(in, "op") != strings.Contains(out.String(), "unknown operation") {
			t.Errorf("%q: %q, %v", in, out.String(), err)
		}
	}
}
