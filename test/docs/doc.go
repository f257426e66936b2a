// Package docs tests what the documentation points to: pages and headings, values of the chart, alerts.
package docs
