#!/usr/bin/env node
// Exit code 0 when the URL answers 200. Certificates are not looked at: it is this very container that answers.
import { get as getPlain } from 'node:http'
import { get } from 'node:https'

const [url = 'https://127.0.0.1:6443/readyz'] = process.argv.slice(2)
const request = url.startsWith('https:') ? get(url, { rejectUnauthorized: false }) : getPlain(url)
request.on('response', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
request.on('error', ({ message }) => {
  process.stdout.write(message)
  process.exit(1)
})
