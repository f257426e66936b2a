package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"time"
)

// member is a file of an archive.
type member struct {
	name    string
	content []byte
	mode    fs.FileMode
}

// tarball packs the members in their order. Only names, content, modes and the given time are in the result.
func tarball(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, m := range members {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.content)), Mode: int64(m.mode.Perm()), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", m.name, err)
		}
		if _, err := archive.Write(m.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", m.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}

// zipped packs the members for Windows, which has no program for the other format in older versions.
func zipped(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(m.mode.Perm())
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", m.name, err)
		}
		if _, err := entry.Write(m.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", m.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}
