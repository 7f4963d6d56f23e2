import type { FastifyReply } from 'fastify'

/** The kubelet speaks plain text, but for objects. */
export const sendText = (reply: FastifyReply, code: number, text: string): FastifyReply =>
  reply.code(code).type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(text)

export const sendJson = (reply: FastifyReply, body: object): FastifyReply =>
  reply.type('application/json').serializer(JSON.stringify).send(body)
