// Package mediatest makes files that are bad on purpose, each the same in every run: bombs, files of two kinds, cut ones, false headers, foreign formats
// that name other files and hosts, and flipped bits. It is for tests alone.
package mediatest
