package cosign

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// MaxMessage is how long a message may be, in bytes: registry reads at most 8 MiB of signatures
// of one manifest, a policy names at most 4 MiB of trusted root, and base64 makes a third more.
const MaxMessage = 32 << 20

// maxAnswer is how much of the answer of a service is handed on, in bytes. The judge refuses what
// has as many.
const maxAnswer = 1<<20 + 1

// Op is what is asked of a judge.
type Op string

// What is asked of a judge.
const (
	OpBuild    Op = "build"    // whether Demand can be demanded: Judge answers
	OpJudge    Op = "judge"    // whether Found satisfies Demand: Verdict answers
	OpKey      Op = "key"      // whether Key can be read: Public answers
	OpSign     Op = "sign"     // a signature of Claim by Key: Attached answers
	OpKeyless  Op = "keyless"  // whether Keyless can be asked for
	OpIdentity Op = "identity" // a signature of Claim by Keyless: Attached answers
	OpGenerate Op = "generate" // a key of a Kind: Private and Public answer
)

// Request is one question to a judge.
type Request struct {
	ID       uint64                `json:"id"` // the answer repeats it
	Op       Op                    `json:"op"`
	Demand   *Demand               `json:"demand,omitempty"` // nil where nobody is trusted
	Subject  digest.Digest         `json:"subject,omitempty"`
	Found    []registry.Attachment `json:"found,omitempty"`
	Key      []byte                `json:"key,omitempty"` // private, in PEM
	Password []byte                `json:"password,omitempty"`
	Forms    []Form                `json:"forms,omitempty"`
	Keyless  *KeylessOptions       `json:"keyless,omitempty"`
	Claim    Claim                 `json:"claim"`
	Kind     string                `json:"kind,omitempty"`
}

// Response is the answer of a judge, or with Ask a question of its own, which an Answer follows.
type Response struct {
	ID       uint64                `json:"id"`
	Ask      *Ask                  `json:"ask,omitempty"`
	Failure  *Failure              `json:"failure,omitempty"` // nothing else is set then
	Judge    *Description          `json:"judge,omitempty"`
	Verdict  *Verdict              `json:"verdict,omitempty"`
	Attached []registry.Attachment `json:"attached,omitempty"`
	Private  []byte                `json:"private,omitempty"`
	Public   []byte                `json:"public,omitempty"`
}

// Description is what a judge says of what it demands: see verify.Judge, Listing and Noting.
type Description struct {
	Text   string   `json:"text"`
	Listed []string `json:"listed,omitempty"`
	Needed int      `json:"needed"`
	All    bool     `json:"all,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// Verdict is a verify.Verdict that cannot be mistaken for another: it repeats what it is about, and
// says that it is a yes.
type Verdict struct {
	Subject    digest.Digest      `json:"subject"`
	Satisfied  bool               `json:"satisfied"`
	Needed     int                `json:"needed"`
	Signatures []verify.Signature `json:"signatures,omitempty"`
	Reasons    []string           `json:"reasons,omitempty"`
}

// Ask is a request that a service should get. A judge has no network.
type Ask struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// Answer is what a service answered, cut after 1 MiB and a byte.
type Answer struct {
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
	Failed string      `json:"failed,omitempty"` // why there is none
}

// Send writes one message: its length, and JSON.
func Send(w io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("a message has %d bytes, at most %d are allowed", len(data), MaxMessage)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) //nolint:gosec // it is no more than MaxMessage
	return err
}

// Receive reads one message, strictly. It gives io.EOF where there is none any more.
func Receive(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return fmt.Errorf("a message has %d bytes, at most %d are allowed", n, MaxMessage)
	}
	var data bytes.Buffer // which grows with what comes, whatever was announced
	if _, err := io.CopyN(&data, r, int64(n)); err != nil {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	d := json.NewDecoder(&data)
	d.DisallowUnknownFields()
	if err := d.Decode(message); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading a message: something follows it")
	}
	return nil
}
