// Package transport answers: how is a server asked?
//
// It hides proxies, certificates, logins, time-outs, the pace of a body, what is tried again, and that
// an answer leads nobody nearer to this machine than to where it comes from.
//
// What is asked for, and what an answer means, never goes in.
package transport
