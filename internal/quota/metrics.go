package quota

// words are the outcomes as label values of metrics.
var words = map[Outcome]string{Granted: "granted", Refused: "refused", Waiting: "waiting", Unavailable: "unavailable"}
