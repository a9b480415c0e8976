// Package ui answers: how is a value shown?
//
// Commands hand over plain structs and a format's name. It hides table layout, encoders,
// templates, the languages of graphs, and what is unsafe to send to a terminal.
//
// Where values come from and what they mean never goes in.
package ui
