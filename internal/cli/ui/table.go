package ui

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Table is a form for people: facts about the whole, then rows below a header.
type Table struct {
	Title string // a line above the facts; "" for none
	// Facts are pairs of a name and a value, which may have several lines. A pair without a value is
	// left out, and an empty pair is an empty line.
	Facts [][2]string
	// Colours are the colours of Facts, by index, for a terminal with colours.
	Colours map[int]Colour
	Header  []string
	Rows    [][]string // cells are shown on one line
	Notes   []string   // lines below
}

// Colour is the colour of a fact.
type Colour string

// The colours of verdicts, errors and warnings, as codes of terminals.
const (
	Good     Colour = "\x1b[32m" // green
	Bad      Colour = "\x1b[31m" // red
	Doubtful Colour = "\x1b[33m" // yellow

	noColour = "\x1b[0m"
)

// gap separates two columns.
const gap = "  "

// bytes formats the table. No line ends with a space.
func (t Table) bytes(coloured bool) []byte {
	var b bytes.Buffer
	if t.Title != "" {
		writeRow(&b, oneLine([]string{t.Title}), nil)
	}
	t.facts(&b, coloured)
	if len(t.Rows) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		rows := append([][]string{t.Header}, t.Rows...)
		for i := range rows {
			rows[i] = oneLine(rows[i])
		}
		wide := widths(rows)
		for _, row := range rows {
			writeRow(&b, row, wide)
		}
	}
	for i, note := range t.Notes {
		if i == 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(CleanText(note), " ") + "\n")
	}
	return b.Bytes()
}

// Of returns text in the colour. The text has to be safe for a terminal.
func (c Colour) Of(text string) string { return string(c) + text + noColour }

func (t Table) facts(b *bytes.Buffer, coloured bool) {
	wide := 0
	for _, f := range t.Facts {
		wide = max(wide, utf8.RuneCountInString(f[0])+1)
	}
	for n, f := range t.Facts {
		if f == ([2]string{}) {
			b.WriteByte('\n')
		}
		if f[1] == "" {
			continue
		}
		value := strings.TrimRight(CleanText(f[1]), "\n")
		for i, line := range strings.Split(value, "\n") {
			name := ""
			if i == 0 {
				name = f[0] + ":"
			}
			if colour := t.Colours[n]; coloured && colour != "" {
				line = colour.Of(line)
			}
			writeRow(b, []string{name, line}, []int{wide, 0})
		}
	}
}

func oneLine(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = CleanText(strings.Join(strings.Fields(cell), " "))
	}
	return out
}

func widths(rows [][]string) []int {
	var out []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] = max(out[i], utf8.RuneCountInString(cell))
		}
	}
	return out
}

func writeRow(b *bytes.Buffer, row []string, wide []int) {
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString(gap)
		}
		line.WriteString(cell)
		if i < len(row)-1 {
			line.WriteString(strings.Repeat(" ", max(0, wide[i]-utf8.RuneCountInString(cell))))
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
