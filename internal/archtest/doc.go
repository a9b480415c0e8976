// Package archtest answers: is the code still built as ARCHITECTURE.md says?
//
// It reads the tables on that page and every Go file of the module, for every operating system. It
// reports each import and call that the tables do not allow, each file, function and interface that
// exceeds a limit, each exported name without a comment, and each variable that is state. It hides
// how files are found and parsed, and how a name is matched with a row.
//
// Rules that need types, or that a linter already has, never go in: they are in .golangci.yaml.
package archtest
