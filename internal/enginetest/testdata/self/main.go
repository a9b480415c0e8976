// Command self is nothing but the program that is started again inside a sandbox.
package main

import _ "github.com/krmcat/krmcat/internal/shim"

func main() {}
