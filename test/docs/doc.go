// Package docs tests the documentation's references: pages and headings, values of the chart, alerts.
package docs
