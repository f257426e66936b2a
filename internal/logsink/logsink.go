// Package logsink adds layers between a logger and its sink.
package logsink

import "github.com/go-logr/logr"

// Line is one call of a logger.
type Line struct {
	// IsError is true for calls of Error and false for calls of Info. Err is nil if an error has no cause.
	IsError       bool
	Err           error
	Message       string
	KeysAndValues []any
}

// Filter changes the lines of a logger. The lists that it receives belong to the caller, so it does not change them.
type Filter interface {
	// Line changes a line before it is written. If it returns false, the line is dropped.
	Line(*Line) bool
	// Values returns the replacement of the keys and values that a logger adds to each line.
	Values(keysAndValues []any) []any
}

// Wrap returns a logger whose lines pass filter before they reach log.
func Wrap(log logr.Logger, filter Filter) logr.Logger {
	under := log.GetSink()
	if under == nil {
		return log // log discards everything
	}
	// The sink below must skip one more caller for each layer above it.
	if deeper, ok := under.(logr.CallDepthLogSink); ok {
		under = deeper.WithCallDepth(1)
	}
	return log.WithSink(layer{under, filter})
}

type layer struct {
	logr.LogSink
	filter Filter
}

var _ logr.CallDepthLogSink = layer{}

// Init implements logr.LogSink. The wrapped sink is initialized already.
func (l layer) Init(logr.RuntimeInfo) {}

func (l layer) Info(level int, message string, keysAndValues ...any) {
	if line := (Line{Message: message, KeysAndValues: keysAndValues}); l.filter.Line(&line) {
		l.LogSink.Info(level, line.Message, line.KeysAndValues...)
	}
}

func (l layer) Error(err error, message string, keysAndValues ...any) {
	if line := (Line{IsError: true, Err: err, Message: message, KeysAndValues: keysAndValues}); l.filter.Line(&line) {
		l.LogSink.Error(line.Err, line.Message, line.KeysAndValues...)
	}
}

func (l layer) WithValues(keysAndValues ...any) logr.LogSink {
	return layer{l.LogSink.WithValues(l.filter.Values(keysAndValues)...), l.filter}
}

func (l layer) WithName(name string) logr.LogSink {
	return layer{l.LogSink.WithName(name), l.filter}
}

func (l layer) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := l.LogSink.(logr.CallDepthLogSink); ok {
		return layer{deeper.WithCallDepth(depth), l.filter}
	}
	return l
}
