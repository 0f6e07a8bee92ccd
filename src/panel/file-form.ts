import express, { type RequestHandler } from 'express'
import { bodyProblem, holdBody, type Room } from '#http/middleware/json-body.ts'
import { Problem } from '#http/problems.ts'
import { MAX_FILE_BYTES } from '#imports/sheet.ts'

/** With what stands around a file in the form. */
const LIMIT = MAX_FILE_BYTES + 20_000

const TYPE = 'multipart/form-data'

/** Parsing 10,000 parts would block the event loop for a second (HTTP-43). */
const MOST_PARTS = 100

const readBody = express.raw({ type: TYPE, limit: LIMIT })

/** Every part has this header. */
const partsIn = (bytes: Buffer): number => bytes.toString('latin1').match(/content-disposition/gi)?.length ?? 0

/** Reads a form with a file: its fields become the request's body, the file `response.locals.file`. */
export const fileForm =
  (room: Room): RequestHandler =>
  (request, response, next) => {
    holdBody(room, LIMIT, request, response)
    readBody(request, response, (error?: unknown) => {
      if (error !== undefined) return next(bodyProblem(error, LIMIT, request))
      if (partsIn(request.body as Buffer) > MOST_PARTS) return next(new Problem('malformed_json'))
      const headers = { 'content-type': request.get('content-type') ?? '' }
      new Response(request.body as Buffer<ArrayBuffer>, { headers })
        .formData()
        .catch(() => {
          throw new Problem('malformed_json')
        })
        .then(async (form) => {
          const fields: Record<string, string> = {}
          for (const [name, value] of form) {
            if (typeof value === 'string') fields[name] = value
            else response.locals.file = Buffer.from(await value.arrayBuffer())
          }
          request.body = fields
          next()
        })
        .catch(next)
    })
  }

export const isFileForm = (type: string | undefined): boolean => type?.startsWith(TYPE) ?? false
