// Package pages answers: do README.md and docs say what is so?
//
// Its tests run the worked example of the README, compare the table of docs/formats.md
// with the constants of mediatypes, read the examples on that page with krmcat's own
// decoders, and follow the links between pages.
//
// What the code should do never goes in: that is tested where the code is.
package pages
