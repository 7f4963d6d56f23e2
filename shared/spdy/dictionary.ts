const words = [
  ...'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age'.split(
    ' ',
  ),
  ...'allow authorization cache-control connection content-base content-encoding content-language'.split(' '),
  ...'content-length content-location content-md5 content-range content-type date etag expect expires from'.split(' '),
  ...'host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location'.split(' '),
  ...'max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te'.split(' '),
  ...'trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status'.split(' '),
  ...['200 OK', 'version', 'HTTP/1.1', 'url', 'public', 'set-cookie', 'keep-alive', 'origin'],
]

const texts = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized',
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,',
  'text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
]

function withLength(word: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(word.length)
  return Buffer.concat([length, Buffer.from(word, 'latin1')])
}

/**
 * Holds the dictionary that the compressors of both ends start with (SPDY/3, section 2.6.10.1). A checksum in the first
 * header block fails if the other end uses a different dictionary.
 */
export const headerDictionary = Buffer.concat([...words.map(withLength), Buffer.from(texts.join(''), 'latin1')])
