// Package edit answers: what does the text of a YAML document become when its value changes?
//
// It compares the tree of a text with the tree that is wanted, and replaces, inserts and removes
// the smallest pieces of the text: a scalar in its own quotes, the lines of a field or of an item.
// It reads the result again. Where that is not what is wanted, it prints the enclosing mapping or
// list, and at last the document. So a mistake of its scanner costs layout, never a value. It hides
// where values begin and end, and how comments move between nodes when a document is printed and
// read again.
//
// Files and annotations never go in, nor what a document means.
package edit
