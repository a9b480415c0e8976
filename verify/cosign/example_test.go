package cosign_test

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/verify/cosign"
	judging "github.com/krmcat/krmcat/verify/cosign/judge"
)

// This makes a key pair, signs a digest and judges the signature. Otherwise registry.Client.Attach
// stores it in a registry, and registry.Artifact.Attachments reads it.
func Example() {
	private, public, err := cosign.New(judging.Dial).GenerateKey("ed25519", []byte("secret"))
	if err != nil {
		panic(err)
	}
	signer, err := cosign.New(judging.Dial).LoadSigner(private, []byte("secret"), cosign.FormBundle)
	if err != nil {
		panic(err)
	}
	manifest := digest.FromString("a manifest")
	made, err := signer.Sign(context.Background(), cosign.Claim{Digest: manifest, Annotations: map[string]string{"env": "prod"}})
	if err != nil {
		panic(err)
	}

	j, err := cosign.New(judging.Dial).Build(cosign.Demand{
		Keys:               []cosign.Key{{Name: "platform", PEM: public}},
		InsecureIgnoreTlog: true, // there is no transparency log here
	})
	if err != nil {
		panic(err)
	}
	for _, subject := range []digest.Digest{manifest, digest.FromString("another")} {
		v, err := j.Judge(context.Background(), subject, made)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%t: %s\n", v.Signatures[0].Verified, v.Signatures[0].Signer+v.Signatures[0].Reason)
	}
	// Output:
	// true: platform
	// false: it signs sha256:e59625a822497c164d60705eb3fd6975c375ca213b8140137a826a77790986a9, another artifact
}
