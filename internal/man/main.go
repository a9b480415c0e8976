package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/krmcat/krmcat/internal/cli"
)

func main() {
	text, err := page(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(text)
}

// page returns the manual page: the help of krmcat, and of every command below it.
func page(ctx context.Context) (string, error) {
	var b strings.Builder
	b.WriteString(".TH KRMCAT 1\n.SH NAME\nkrmcat \\- publish, trust and run KRM functions\n")
	err := section(ctx, &b)
	return b.String(), err
}

// section writes the help of a command, and then of the commands that this help lists.
func section(ctx context.Context, b *strings.Builder, command ...string) error {
	var out, errs bytes.Buffer
	code := cli.Main(ctx, cli.Process{
		Args: append(append([]string{"krmcat"}, command...), "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
	})
	if code != 0 {
		return fmt.Errorf("the help of %q: exit code %d: %s", command, code, &errs)
	}
	text := out.String()
	b.WriteString(".SH " + roff(strings.Join(append([]string{"krmcat"}, command...), " ")) + "\n" + body(text))
	for _, list := range regexp.MustCompile(`(?m)^(?:Commands|Other commands).*:\n((?:  .*\n)+)`).FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(list[1]) {
			if err := section(ctx, b, append(command[:len(command):len(command)], strings.Fields(line)[0])...); err != nil {
				return err
			}
		}
	}
	return nil
}

// body converts a help to roff: titles, paragraphs, and indented lines unchanged.
func body(text string) string {
	var b strings.Builder
	asIs := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if indented != asIs && line != "" {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			asIs = indented
		}
		switch {
		case line == "":
			b.WriteString(".PP\n")
		case strings.HasSuffix(line, ":") && !indented:
			b.WriteString(".SS " + roff(strings.TrimSuffix(line, ":")) + "\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if asIs {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff escapes text so that no line of it is a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
