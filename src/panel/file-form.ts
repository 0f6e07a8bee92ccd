import express, { type RequestHandler } from 'express'
import { type BodyBudget, bodyProblem, holdBody } from '#http/middleware/json-body.ts'
import { readMultipart } from '#http/multipart.ts'
import { Problem } from '#http/problems.ts'
import { MAX_FILE_BYTES } from '#imports/sheet.ts'

/** Includes the other parts of the form. */
export const FILE_FORM_BYTES = MAX_FILE_BYTES + 20_000

const TYPE = 'multipart/form-data'

const readBody = express.raw({ type: TYPE, limit: FILE_FORM_BYTES })

/** Reads a form with a file: its fields become the request's body, the file `response.locals.file`. */
export const fileForm =
  (room: BodyBudget): RequestHandler =>
  (request, response, next) => {
    holdBody(room, FILE_FORM_BYTES, request, response)
    readBody(request, response, (error?: unknown) => {
      if (error !== undefined) return next(bodyProblem(error, FILE_FORM_BYTES, request))
      const { body } = request as { body: unknown }
      const form = Buffer.isBuffer(body) ? readMultipart(body, request.get('content-type') ?? '') : null
      if (!form) return next(new Problem('malformed_json'))
      response.locals.file = form.file
      request.body = form.fields
      next()
    })
  }

export const isFileForm = (type: string | undefined): boolean => type?.startsWith(TYPE) ?? false
