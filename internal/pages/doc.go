// Package pages answers: do README.md and docs say what is so?
//
// Its tests run the worked example of the README and the commands of docs/compositions.md
// and of docs/trust, compare the tables of docs/formats.md with the code, read the examples
// on the pages with krmcat's own decoders, judge the signatures that are shown, and follow
// the links between pages.
//
// What the code should do never goes in: that is tested where the code is.
package pages
