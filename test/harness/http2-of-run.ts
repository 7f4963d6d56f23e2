/** What serves HTTP/2 in this run of the tests; clusters that are started as processes read the same variable. */
export const http2OfRun = process.env.KUBESTAGE_HTTP2 === 'node' ? 'node' : 'own'
