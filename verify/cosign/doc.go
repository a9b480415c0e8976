// Package cosign answers: who signed this artifact, and is that somebody who is trusted?
//
// It reads what a policy demands of signatures, and asks package judge whether they satisfy
// it, over a connection: what links cosign and sigstore is another program, or another part of
// this one, that is started when it is first asked. It hides how they talk, and that an answer
// which is late, broken or about something else is none.
//
// Nothing that links cosign or sigstore goes in: every command would wait for it to be
// initialised (docs/adr/0027). Nor does a decision about a signature.
package cosign
