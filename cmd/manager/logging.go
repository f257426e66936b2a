package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/codeconnect/vmgroup-operator/internal/command"
	"github.com/codeconnect/vmgroup-operator/internal/logsink"
	"github.com/codeconnect/vmgroup-operator/internal/server"
)

// newLogger returns a logger that writes JSON lines. Failures have level error and key error.
func newLogger(out io.Writer, level logLevel) logr.Logger {
	return logsink.Bounded(logsink.Harmless(zap.New(
		zap.WriteTo(out),
		zap.Level(zapcore.Level(level)),
		zap.JSONEncoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder }),
		// Expected failures are logged with their cause; the code location does not help.
		zap.StacktraceLevel(zapcore.PanicLevel),
	)), time.Now)
}

// logToStderr sends all log output of this process and its libraries to one logger.
func logToStderr(level logLevel) {
	log := newLogger(os.Stderr, level)
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	server.BoundStandardLog(log.WithName("net"))
}

// logLevel is the value of --log-level. Numbers above debug are logr's levels of verbosity.
type logLevel zapcore.Level

// mostVerbose is the highest number that the flag accepts.
const mostVerbose = 20

// String implements pflag.Value.
func (l *logLevel) String() string {
	if zapcore.Level(*l) >= zapcore.DebugLevel {
		return zapcore.Level(*l).String()
	}
	return strconv.Itoa(-int(*l))
}

// Type implements pflag.Value.
func (*logLevel) Type() string { return "level" }

// Set implements pflag.Value.
func (l *logLevel) Set(value string) error {
	switch value {
	case "debug", "info", "error":
		level, err := zapcore.ParseLevel(value)
		*l = logLevel(level)
		return err
	}
	verbosity, err := strconv.Atoi(value)
	if err != nil || verbosity < 1 || verbosity > mostVerbose {
		return fmt.Errorf("must be debug, info, error, or a number from 1 to %d", mostVerbose)
	}
	*l = logLevel(-verbosity)
	return nil
}

// operatorError is an error for which the operator ends, or does not start. It is logged as a line of the operator's
// log.
type operatorError struct{ error }

// Unwrap returns the cause.
func (e operatorError) Unwrap() error { return e.error }

// asOperator marks err, if not nil, as an error of the operator itself and not of another command.
func asOperator(err error) error {
	if err == nil {
		return nil
	}
	return operatorError{err}
}

// tellEnd writes the error for which the program ends: for the operator as a log line, for other commands as plain text.
func tellEnd(out io.Writer, err error) {
	var ended operatorError
	if errors.As(err, &ended) {
		newLogger(out, 0).Error(ended.error, "The operator ends")
		return
	}
	_, _ = fmt.Fprintln(out, "manager:", command.Plain(err))
}
