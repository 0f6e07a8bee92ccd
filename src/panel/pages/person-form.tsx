import { STATES, stateName, stateOfZip } from '#domain/brazilian-address.ts'
import * as format from '#domain/brazilian-format.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { PERSON_TYPES } from '#events/persons.ts'
import type { CustomerObject } from '#projections/people.ts'
import { type customerListing, type getCustomer, personsSharing } from '#queries/people.ts'
import { type Fields, type FormBody, formText } from '../forms/form.ts'
import {
  choiceInput,
  emailInput,
  type Kind,
  lineInput,
  namedOptions,
  paragraphInput,
  phoneInput,
  taxNumberInput,
  zipInput,
} from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { FormSubmission, PageContext } from '../route.ts'
import { IE_INDICATOR_NAMES } from '../words/values.ts'

/** Of a customer or a supplier. */
export type Person = Omit<CustomerObject, 'state_registration' | 'ie_indicator'>

/** Ticked to save a person with the name that the refusal of another suggested. */
const SUGGESTED_NAME = '_nome'

export const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

/** Fields of both forms; a supplier's extra field follows the name. */
export const personFields = (afterName: Fields = {}, sent: FormBody = {}): Fields => ({
  name: {
    label: 'Nome',
    kind: { ...lineInput, read: (typed) => formText(sent, SUGGESTED_NAME) || typed },
    isRequired: true,
    columns: 8,
  },
  ...afterName,
  person_type: {
    label: 'Tipo de pessoa',
    kind: choiceInput(namedOptions(PERSON_TYPE_NAMES), 'Automático (pelo CPF/CNPJ)'),
    columns: 4,
  },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
  phone: { label: 'Telefone', kind: phoneInput, columns: 4 },
  email: { label: 'E-mail', kind: emailInput, columns: 4 },
  external_id: {
    label: 'Código externo',
    kind: lineInput,
    columns: 4,
    hint: 'Código deste cadastro em outro sistema (opcional).',
  },
  notes: { label: 'Observações', kind: paragraphInput, columns: 12 },
  'address.zip': { label: 'CEP', kind: checkedZip(sent), columns: 3, group: 'Endereço' },
  'address.street': { label: 'Rua', kind: lineInput, columns: 6 },
  'address.number': { label: 'Número', kind: lineInput, columns: 3 },
  'address.complement': { label: 'Complemento', kind: lineInput, columns: 4 },
  'address.district': { label: 'Bairro', kind: lineInput, columns: 4 },
  'address.city': { label: 'Cidade', kind: lineInput, columns: 3 },
  'address.state': { label: 'UF', kind: checkedState(sent), columns: 2 },
})

export const sentIn = (visit: PageContext): FormBody => ('form' in visit ? (visit as FormSubmission).form : {})

/** CEP that exists, of the state that was sent with it. */
const checkedZip = (sent: FormBody): Kind => ({
  ...zipInput,
  problem(typed) {
    const zip = typed.replace(/\D/g, '')
    if (zip.length !== 8) return null
    const state = stateOfZip(zip)
    if (state === null) return 'não existe: confira os números'
    const typedState = formText(sent, 'address.state')
    return typedState === '' || typedState === state ? null : `é de ${state}, e não de ${typedState}`
  },
})

/** The CEP alone may be unchanged, so the state is compared too. */
const checkedState = (sent: FormBody): Kind => ({
  ...choiceInput(STATES.map((state) => ({ value: state, label: `${state} – ${stateName(state)}` }))),
  problem(typed) {
    const state = stateOfZip(formText(sent, 'address.zip').replace(/\D/g, ''))
    return state === null || state === typed ? null : `o CEP é de ${state}`
  },
})

/** Fields of customers for fiscal documents. */
export const CUSTOMER_TAX_INPUTS: Fields = {
  state_registration: { label: 'Inscrição estadual', kind: lineInput, columns: 6, fold: 'Dados fiscais' },
  ie_indicator: {
    label: 'Contribuinte do ICMS',
    kind: choiceInput(namedOptions(IE_INDICATOR_NAMES)),
    columns: 6,
    fold: 'Dados fiscais',
  },
}

/** Who has the name that was refused, and a free one to take with a tick. */
export const takenName =
  (of: typeof getCustomer, path: string) =>
  async ({ refused, details = {} }: Refusal, { readModel }: FormSubmission) => {
    const { field, conflicting_id, suggested_name } = details
    if (refused !== 'duplicate_resource' || typeof conflicting_id !== 'number') return undefined
    const { record } = await of(readModel.reader, conflicting_id)
    if (record === null) return undefined
    const { id, name, document, phone } = JSON.parse(record) as Person
    const facts = [document && format.formatTaxNumber(document), phone && format.formatPhone(phone)].filter(Boolean)
    return (
      <>
        {field === 'name' ? 'Este nome já é de ' : 'Este código já é de '}
        <a href={link(`${path}/${id}`)}>{format.formatPersonName(name)}</a>
        {facts.length > 0 && ` (${facts.join(', ')})`}
        {'. '}
        {typeof suggested_name === 'string' && (
          <label class="choice">
            <input type="checkbox" name={SUGGESTED_NAME} value={suggested_name} />
            {`Salvar com o nome “${suggested_name}”`}
          </label>
        )}
      </>
    )
  }

/** Warns of other persons with the same document or phone, with links. */
export const sharingNotice =
  ({ resource }: typeof customerListing, path: string) =>
  async (person: Person, { readModel: { reader } }: PageContext) => {
    const others = await personsSharing(reader, resource as 'customers' | 'suppliers', person)
    return (['document', 'phone'] as const).map((shared) => {
      const same = others.filter(({ shares }) => shares === shared)
      if (same.length === 0) return null
      return (
        <p key={shared} class="warning" role="status">
          {shared === 'document' ? 'Mesmo CPF ou CNPJ de ' : 'Mesmo telefone de '}
          {same.map(({ id, name }, at) => (
            <>
              {at > 0 && ', '}
              <a href={link(`${path}/${id}`)}>{format.formatPersonName(name)}</a>
            </>
          ))}
          . Confira se não é a mesma pessoa.
        </p>
      )
    })
  }
