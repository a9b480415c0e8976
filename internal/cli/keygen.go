package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/verify/cosign"
)

func (e *env) keygenCommand() *cli.Command {
	var prefix, kind string
	return &cli.Command{
		Name: "keygen", Usage: "make a key pair for signing, as cosign does",
		Description: `Writes the private key to PREFIX.key, encrypted with a password (from a prompt or $` + passwordName + `), and
the public key to PREFIX.pub. Existing files are not overwritten. cosign reads both.`,
		Flags: grouped(groupOutput,
			&cli.StringFlag{Name: "output-key-prefix", Aliases: []string{"o"}, Value: "cosign", Usage: "`PREFIX` of the two files", Destination: &prefix},
			&choiceFlag{
				StringFlag: &cli.StringFlag{Name: "type", Value: cosign.Kinds()[0], Usage: "`TYPE` of the key: " + orList(cosign.Kinds()), Destination: &kind},
				values:     cosign.Kinds(),
			},
		),
		Action: func(c *cli.Context) error { return e.keygen(c, prefix, kind) },
	}
}

func (e *env) keygen(c *cli.Context, prefix, kind string) error {
	if c.NArg() > 0 {
		return usage(c, "%s takes no arguments", c.Command.HelpName)
	}
	if prefix == "" || os.IsPathSeparator(prefix[len(prefix)-1]) {
		return usage(c, "--output-key-prefix is the beginning of a file name, not %q", prefix)
	}
	private, public := e.abs(prefix+".key"), e.abs(prefix+".pub")
	for _, path := range []string{private, public} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return usage(c, "%s is there already: choose another --output-key-prefix", path)
		}
	}
	password, err := e.password(c, "Password of the new key: ")
	if err != nil {
		return err
	}
	if _, set := e.lookupenv(passwordName); !set {
		again, err := e.password(c, "The same again: ")
		if err != nil {
			return err
		}
		if !bytes.Equal(password, again) {
			return usage(c, "the two passwords differ: nothing was written")
		}
	}
	key, pub, err := e.signs.GenerateKey(kind, password)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	if err := writeNew(private, key, 0o600); err != nil {
		return err
	}
	if err := writeNew(public, pub, 0o644); err != nil {
		return errors.Join(err, os.Remove(private)) // a key without the other is of no use
	}
	if len(password) == 0 {
		e.warn("the password is empty: whoever reads " + prefix + ".key can sign")
	}
	return e.write([]byte(prefix + ".key\n" + prefix + ".pub\n"))
}

// writeNew creates a file, or none after an error. It is an error if there is one.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return &notThereError{path: path, err: err}
	}
	_, werr := f.Write(data)
	if err := errors.Join(werr, f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
