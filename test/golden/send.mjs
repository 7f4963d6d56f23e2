// Sends the recorded requests, over HTTP/1.1 or HTTP/2. `connect(server, tls)` returns `send(request)`, which resolves to { status, headers, text };
// of a request whose connection or stream is reset, the status is 0. For a watch it reads until `until` lines, the end, or `forMs`.
import http2 from 'node:http2'
import https from 'node:https'

const patienceMs = 30_000
const watchMs = 2_000
const late = ({ method, path }) => new Error(`no answer in ${patienceMs / 1000} s: ${method} ${path}`)

/** What was read of an answer; `end` is called once, when that is enough. */
function reader(readable, watch, end) {
  const chunks = []
  let lines = 0
  const done = () => end(Buffer.concat(chunks).toString())
  readable.on('data', (chunk) => {
    chunks.push(chunk)
    if (!watch?.until) return
    for (const byte of chunk) if (byte === 10) lines++
    if (lines >= watch.until) done()
  })
  readable.on('end', done).on('error', done)
  if (watch) setTimeout(done, watch.forMs ?? watchMs)
}

export function connectHttp1(server, tls) {
  const agent = new https.Agent({ keepAlive: true, ...tls })
  return (asked) => new Promise((resolve, reject) => {
    const { method, path, headers, payload, watch, anonymous } = asked
    const used = anonymous ? new https.Agent({ ca: tls.ca }) : agent
    const request = https.request({ agent: used, host: server.hostname, port: server.port, method, path, headers }, (response) => {
      reader(response, watch, (text) => {
        if (watch) request.destroy()
        resolve({ status: response.statusCode, headers: response.headers, text })
      })
    })
    request.on('error', (error) => (watch || error.code !== 'ECONNRESET' ? reject(error) : resolve({ status: 0, headers: {}, text: '' })))
    request.setTimeout(patienceMs, () => request.destroy(late(asked)))
    request.end(payload)
  })
}

export function connectHttp2(server, tls) {
  const sessions = new Map()
  /** One connection for each kind of user; another one when the server has ended it. */
  const session = (anonymous) => {
    const known = sessions.get(anonymous)
    if (known && !known.closed && !known.destroyed) return known
    const made = http2.connect(server.origin, anonymous ? { ca: tls.ca } : tls)
    made.on('error', () => {}).unref() // its streams hear of it
    sessions.set(anonymous, made)
    return made
  }
  return (asked) => new Promise((resolve, reject) => {
    const { method, path, headers, payload, watch, anonymous = false } = asked
    const stream = session(anonymous).request({ ...headers, ':method': method, ':path': path }, { endStream: payload === undefined })
    let answer
    const giveUp = setTimeout(() => { reject(late(asked)); stream.close() }, patienceMs)
    stream.on('response', (received) => {
      answer = received
      reader(stream, watch, (text) => {
        clearTimeout(giveUp)
        if (watch) stream.close(http2.constants.NGHTTP2_CANCEL)
        resolve({ status: received[':status'], headers: received, text })
      })
    })
    stream.on('error', () => {})
    stream.on('close', () => {
      clearTimeout(giveUp)
      if (!answer) resolve({ status: 0, headers: {}, text: '' })
    })
    stream.end(payload)
  })
}
