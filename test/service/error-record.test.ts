import { expect } from 'chai'
import pg from 'pg'
import { errorRecord } from '#service/service-log.ts'

/** Error as thrown by the driver. */
function databaseError(message: string, members: object): Error {
  return Object.assign(new pg.DatabaseError(message, 1, 'error'), members)
}

function parseError(text: string): Error {
  try {
    JSON.parse(text)
  } catch (error) {
    return error as Error
  }
  throw new Error('it is JSON')
}

describe('errors in the log', () => {
  it('contain the cause, and no values of rows, texts or addresses [PRIV-45]', () => {
    const detail = 'Key (company_id, name_key)=(1, maria da silva) already exists.'
    const taken = databaseError('duplicate key value violates unique constraint "customers_name_key"', {
      code: '23505',
      constraint: 'customers_name_key',
      detail,
      where: 'maria da silva',
    })
    const errors = [
      new Error('the unit of work failed', { cause: taken }),
      databaseError('invalid input syntax for type bigint: "maria da silva"', { code: '22P02' }),
      Object.assign(new Error("Can't send mail: 550 <maria.da.silva@example.com> is unknown"), {
        rejected: ['maria.da.silva@example.com'],
      }),
      parseError('{"name": maria da silva}'),
      parseError('maria da silva'),
      new AggregateError([taken], 'several'),
      'maria da silva',
    ]
    for (const error of errors) expect(JSON.stringify(errorRecord(error)), String(error)).not.to.match(/maria/i)
    expect(errorRecord(errors[0])).to.deep.include({ type: 'Error', message: 'the unit of work failed' })
    expect((errorRecord(errors[0]) as unknown as { cause: object }).cause).to.deep.include({
      code: '23505',
      constraint: 'customers_name_key',
    })
    expect((errorRecord(taken) as unknown as { stack: string }).stack).to.match(/^\s+at .*error-record\.test/)
  })
})
