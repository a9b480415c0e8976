// Package pages answers: is what README.md and docs say true?
//
// Its tests run the worked example of the README and the commands of docs/compositions.md and of
// docs/trust. They compare the tables of docs/formats.md with the code, read the examples on the
// pages with krmcat's own decoders, verify the signatures on them, and follow the links between
// pages.
//
// What the code should do never goes in: the package of that code tests it.
package pages
