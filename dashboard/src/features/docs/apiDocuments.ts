// Writes the OpenAPI document as Markdown, one document for each tag, so that the page shows it like the others.
import { anchorOf } from './links'
import { apiText as text } from './text'

interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
}

interface Content {
  schema?: Schema
  examples?: Record<string, { value: unknown }>
}

type Contents = Record<string, Content>

interface Operation {
  tags: string[]
  summary: string
  description: string
  'x-access': string
  parameters?: { name: string; description?: string; required?: boolean; schema?: Schema }[]
  requestBody?: { content: Contents }
  responses: Record<string, { description?: string; content?: Contents }>
}

/** What the page reads of an OpenAPI document. */
export interface OpenApi {
  info: { description: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const API = '/docs/api'

/** Writes a row of a table. */
const row = (...cells: string[]) =>
  `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`

function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) return ''
  return (
    [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n') + '\n'
  )
}

/** Writes one document, and collects the schemas that it names. */
class Writer {
  readonly schemas = new Set<string>()
  constructor(private readonly api: OpenApi) {}

  type(schema: Schema = {}): string {
    const { $ref, enum: values, items, type } = schema
    if ($ref) {
      const [name = '', ...below] = $ref.split('/').slice(3)
      if (below.length === 0) {
        this.schemas.add(name)
        return `[${name}](#${anchorOf(name)})`
      }
      let found: unknown = this.api.components.schemas[name]
      for (const member of below) found = (found as Record<string, unknown> | undefined)?.[member]
      return this.type(found as Schema)
    }
    const any = schema.anyOf ?? schema.oneOf
    if (any) return any.map((one) => this.type(one)).join(text.or)
    if (values) return values.map((value) => `\`${String(value)}\``).join(text.or)
    if (items) return text.arrayOf(this.type(items))
    return [type ?? 'any'].flat().join(text.or)
  }

  schema(name: string): string {
    const schema = this.api.components.schemas[name] ?? {}
    const { properties = {}, required = [], description = '' } = schema
    const members = Object.entries(properties).map(([member, of]) => [
      `\`${member}\``,
      this.type(of),
      [required.includes(member) ? text.required : '', of.description ?? ''].join(' ').trim(),
    ])
    const what = members.length > 0 ? '' : this.type({ ...schema, description: '' })
    return `### ${name}\n\n${[what, description].filter(Boolean).join('. ')}\n\n${table([text.member, text.type, text.description], members)}\n`
  }

  /** The type of a body and its first example. */
  body(line: (type: string) => string, contents: Contents = {}): string {
    const [[mediaType, { schema, examples = {} }] = ['', {} as Content]] = Object.entries(contents)
    if (!mediaType) return ''
    const [example] = Object.values(examples)
    const value = typeof example?.value === 'string' ? example.value : JSON.stringify(example?.value, null, 2)
    const code = example ? `\n\`\`\`json\n${value}\n\`\`\`\n` : ''
    return `${line(schema ? this.type(schema) : mediaType)}\n${code}\n`
  }

  operation(title: string, op: Operation): string {
    const parameters = (op.parameters ?? []).map(({ name, description = '', required, schema }) => [
      `\`${name}\``,
      this.type(schema),
      [required ? text.required : '', description].join(' ').trim(),
    ])
    const [status = '', success] = Object.entries(op.responses).find(([code]) => /^[123]/.test(code)) ?? []
    return [
      `## ${title}`,
      `**${op.summary}.** ${op.description} ${text.access(op['x-access'])}`,
      table([text.parameter, text.type, text.description], parameters),
      this.body(text.body, op.requestBody?.content),
      this.body((type) => text.result(status, type), success?.content),
      table(
        [text.status, text.description],
        Object.entries(op.responses).map(([code, { description = '' }]) => [code, description]),
      ),
    ]
      .filter(Boolean)
      .join('\n\n')
  }
}

/** Returns the documents of the API by path: their index, and one for each tag. */
export function apiDocuments(api: OpenApi): Map<string, string> {
  const documents = new Map<string, string>()
  const index = [`# ${text.title}`, api.info.description, text.whole]
  for (const { name, description } of api.tags) {
    const path = `${API}/${anchorOf(name)}`
    const writer = new Writer(api)
    const parts = [`# ${text.tag(name)}`, description + '.']
    const links: string[] = []
    for (const [route, operations] of Object.entries(api.paths))
      for (const [method, op] of Object.entries(operations)) {
        if (!op.tags.includes(name)) continue
        const title = `${method.toUpperCase()} ${route}`
        links.push(`- [\`${title}\`](${path}#${anchorOf(title)}): ${op.summary}`)
        parts.push(writer.operation(title, op))
      }
    parts.push(`## ${text.schemas}`)
    for (const schema of writer.schemas) parts.push(writer.schema(schema)) // which may add more
    documents.set(path, parts.join('\n\n'))
    index.push(`## ${name}`, description + '.', links.join('\n'))
  }
  return new Map([[API, index.join('\n\n')], ...documents])
}
