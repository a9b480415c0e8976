package judge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/krmcat/krmcat/verify/cosign"
)

// Serve responds to requests until the end of in.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &server{in: in, out: out, judges: map[[sha256.Size]byte]*judge{}, signers: map[[sha256.Size]byte]*keySigner{}}
	for {
		var q cosign.Request
		err := cosign.Receive(in, &q)
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
		a, err := s.answer(ctx, q)
		if err != nil {
			a = cosign.Response{Failure: cosign.Fail(err)}
		}
		a.ID = q.ID
		if err := cosign.Send(out, a); err != nil {
			return err
		}
	}
}

// Dial serves in this process: see cosign.Dial.
func Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	ctx = context.WithoutCancel(ctx) // the caller ends it by closing the connection
	go func() {
		_ = in.CloseWithError(Serve(ctx, in, out))
		_ = out.Close()
	}()
	return &line{answers, questions}, nil
}

// line is the caller's end of the connection to a server in this process.
type line struct {
	*io.PipeReader
	questions *io.PipeWriter
}

// Write implements io.Writer.
func (l *line) Write(p []byte) (int, error) { return l.questions.Write(p) }

// Close implements io.Closer.
func (l *line) Close() error { return errors.Join(l.questions.Close(), l.PipeReader.Close()) }

// server caches judges and signers for further requests.
type server struct {
	in      io.Reader
	out     io.Writer
	judges  map[[sha256.Size]byte]*judge
	signers map[[sha256.Size]byte]*keySigner
}

// answer processes a request. A panic of a library is an error.
func (s *server) answer(ctx context.Context, q cosign.Request) (a cosign.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = cosign.Response{}, errors.New("it is malformed")
		}
	}()
	switch q.Op {
	case cosign.OpBuild:
		return s.describe(q)
	case cosign.OpJudge:
		return s.judge(ctx, q)
	case cosign.OpKey:
		k, err := s.signer(q)
		if err != nil {
			return a, err
		}
		a.Public = k.PublicKey()
		return a, nil
	case cosign.OpSign:
		k, err := s.signer(q)
		if err != nil {
			return a, err
		}
		a.Attached, err = k.Sign(ctx, q.Claim)
		return a, err
	case cosign.OpKeyless, cosign.OpIdentity:
		return s.keyless(ctx, q)
	case cosign.OpGenerate:
		a.Private, a.Public, err = generateKey(q.Kind, q.Password)
		return a, err
	}
	return a, fmt.Errorf("unknown operation %q", clean(string(q.Op), maxWords))
}

// keyOf returns a key for the caches.
func keyOf(what any) (key [sha256.Size]byte, err error) {
	data, err := json.Marshal(what)
	return sha256.Sum256(data), err
}

// judgeOf returns the judge for a demand, one that trusts nobody for nil.
func (s *server) judgeOf(d *cosign.Demand) (*judge, error) {
	if d == nil {
		return &judge{}, nil
	}
	key, err := keyOf(d)
	if err != nil {
		return nil, err
	}
	if s.judges[key] == nil {
		j, err := build(*d)
		if err != nil {
			return nil, err
		}
		s.judges[key] = j
	}
	return s.judges[key], nil
}

func (s *server) describe(q cosign.Request) (a cosign.Response, err error) {
	j, err := s.judgeOf(q.Demand)
	if err != nil {
		return a, err
	}
	a.Judge = &cosign.Description{Text: j.String(), Notes: j.Notes()}
	a.Judge.Listed, a.Judge.Needed, a.Judge.All = j.Listed()
	return a, nil
}

func (s *server) judge(ctx context.Context, q cosign.Request) (a cosign.Response, err error) {
	j, err := s.judgeOf(q.Demand)
	if err != nil {
		return a, err
	}
	v, err := j.Judge(ctx, q.Subject, q.Found)
	if err != nil {
		return a, err
	}
	a.Verdict = &cosign.Verdict{Subject: q.Subject, Satisfied: len(v.Reasons) == 0, Needed: v.Needed, Signatures: v.Signatures, Reasons: v.Reasons}
	return a, nil
}

// signer decrypts a key once, which takes a tenth of a second.
func (s *server) signer(q cosign.Request) (*keySigner, error) {
	key, err := keyOf([]any{q.Key, q.Password, q.Forms})
	if err != nil {
		return nil, err
	}
	if s.signers[key] == nil {
		k, err := loadSigner(q.Key, q.Password, q.Forms...)
		if err != nil {
			return nil, err
		}
		s.signers[key] = k
	}
	return s.signers[key], nil
}

func (s *server) keyless(ctx context.Context, q cosign.Request) (a cosign.Response, err error) {
	if q.Keyless == nil {
		return a, errors.New("the request has no identity")
	}
	o := *q.Keyless
	o.Transport = asked(func(r *http.Request) (*http.Response, error) { return s.service(q.ID, r) })
	k, err := newKeyless(o)
	if err != nil || q.Op == cosign.OpKeyless {
		return a, err
	}
	a.Attached, err = k.Sign(ctx, q.Claim)
	return a, err
}

// service sends a service request to the caller.
func (s *server) service(id uint64, r *http.Request) (*http.Response, error) {
	ask := cosign.Ask{Method: r.Method, URL: r.URL.String(), Header: r.Header}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		ask.Body = body
	}
	if err := cosign.Send(s.out, cosign.Response{ID: id, Ask: &ask}); err != nil {
		return nil, err
	}
	var got cosign.Answer
	if err := cosign.Receive(s.in, &got); err != nil {
		return nil, err
	}
	if got.Failed != "" {
		return nil, errors.New(got.Failed)
	}
	return &http.Response{
		Status: http.StatusText(got.Status), StatusCode: got.Status, Header: got.Header, Request: r,
		Body: io.NopCloser(bytes.NewReader(got.Body)), ContentLength: int64(len(got.Body)),
	}, nil
}
