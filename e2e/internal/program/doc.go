// Package program answers: which krmcat does a test run?
//
// The test's own executable is krmcat when it is started under that name. So no program has to be
// built first, and what `go test` caches depends on krmcat's code. KRMCAT_BIN names another
// executable: `make check` also runs the scripts with bin/krmcat.
//
// What a test expects of krmcat never goes in.
package program
