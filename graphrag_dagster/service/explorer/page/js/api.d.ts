/**
 * What the service answers, made of its OpenAPI document by `make docs`.
 * Offsets of characters count code points, not UTF-16 units.
 */

/** An answer, what it rests on, and what it cost. */
export interface AnswerBody {
  question: string;
  method: string;
  level: number | null;
  text: string;
  engine: string;
  refused: boolean;
  why: string | null;
  sources: Source[];
  statements: Statement[];
  context: ContextUse[];
  scores: number[];
  dropped: number;
  removed_citations: number;
  problems: string[];
  /** calls to the engine */
  steps: Call[];
  /** how the search method arrived at the answer, in sections: rows by column, and the rows of the index that cells link to; a section with one row is a list of facts */
  trace: TraceSection[];
  usage: Usage;
  seconds: number | null;
  query: Query | null;
  /** what the answer was restricted to; pairs are the numbers inside the restriction and in the whole corpus */
  scope: Scope | null;
  /** documents that the question names, whose passages were preferred; only: no others were searched */
  favoured: Favoured[];
  /** for a refused answer: the passage closest to the question, although it does not answer it */
  nearest: Source | null;
  /** a notice to show above the text, such as that no model was used; may be empty */
  heading: string;
  /** the words of the text that answer the question, in code points; never in a link or code */
  marks: Span[];
  calls: number;
  partly_supported: number;
  unsupported: number;
  general: number;
  [key: string]: unknown;
}

/** A question, and how to answer it. */
export interface AskBody {
  /** at most 4,000 characters, unless the server is configured otherwise */
  question: string;
  /** auto (chosen by the question), global (reports of a level), dynamic (reports chosen from the top down), local (the entities of the question and their surroundings), drift (local, led by reports), basic (passages found by words and vectors), sql (counts and lists by a query over the tables), coterag (communities by summaries and terms, their paths, and a second look), own-context (what the model knows, no document), graph (a query over the graph, or the nearest community reports), paths (paths of the graph and the words that state them), or a condition of the paper: C0, C1, C2, C3, TS, SS; for comparisons coterag-no-communities, coterag-no-matching, coterag-no-coverage, coterag-no-traversal, coterag-no-fallback; default: as the settings of the corpus say */
  method?: string | null;
  /** community level of global and dynamic and graph, C0 (few broad communities) to C3 and deeper (many narrow ones), C-1 and above in large corpora; default: as the settings of the corpus say */
  level?: string | null;
  /** earlier turns, oldest first */
  history?: TurnBody[];
  /** length and layout of the answer, such as multiple paragraphs, single sentence or list of 3-7 points; at most 200 characters; default: the setting of the corpus */
  response_type?: string | null;
  /** the model may add general knowledge, each such sentence marked [LLM: verify]; default: the setting of the corpus */
  general_knowledge?: boolean | null;
  /** restricts the answer to these documents; default: all of the corpus */
  filters?: Filters | null;
  /** stream server-sent events: `delta` {text} …, then `answer` or `error` */
  stream?: boolean;
}

/**
 * One request to the answerer: task, subject, score 0–100 (0–5 for ``rate``) and tokens.
 *
 * ``used``: whether the result went into the answer.
 */
export interface Call {
  task: string;
  about: string;
  score: number | null;
  tokens: number;
  used: boolean;
  problem: string | null;
  [key: string]: unknown;
}

/**
 * A community.
 *
 * Attributes:
 *     community_id: its id, which is that of its report.
 *     number: small number by which texts cite its report.
 *     level: 0 for the coarsest of the clustering, below 0 for levels above C0.
 *     title: of its report.
 *     summary: the first 300 characters of its report's summary, without marks of citations.
 *     size: member entities.
 *     value: what is measured: members, or tokens of the distinct text units that mention any of them.
 *     rating: importance by the report, 0–10; null without a report.
 *     children: communities that it was split into.
 *     parent_id: the community that it was split from; null at the top.
 */
export interface Cell {
  community_id: string;
  number: number;
  level: number;
  title: string;
  summary: string;
  size: number;
  value: number;
  rating: number | null;
  children: number;
  parent_id: string | null;
}

/** A row of the index that a cell links to; ``row`` and ``column`` count from 0. */
export interface CellLink {
  row: number;
  column: number;
  kind: string;
  record_id: string;
  [key: string]: unknown;
}

/**
 * What differs between two snapshots.
 *
 * Attributes:
 *     before: the older.
 *     after: the newer.
 *     entities: by id, those of the highest degree first.
 *     communities: by id, which is kept while most members stay; the largest first.
 *     reports: by id of their community, the most important first.
 *     documents: by path and row; the longest first.
 *     relationships: how many, by their two ends.
 */
export interface Changes {
  before: Snapshot;
  after: Snapshot;
  entities: Differences;
  communities: Differences;
  reports: Differences;
  documents: Differences;
  relationships: DifferenceCounts;
}

/**
 * Communities of the whole corpus or inside one.
 *
 * Attributes:
 *     within: the community they lie in; null for the whole corpus.
 *     path: the communities that hold ``within``, the root first.
 *     level: k of Ck where all communities of a level were asked for; null for children.
 *     cells: at most 400, those of the largest value first.
 *     rest: the others; null where there are none.
 *     measure: what ``value`` of a cell is.
 */
export interface CommunityCells {
  within: Cell | null;
  path: Cell[];
  level: number | null;
  cells: Cell[];
  rest: Rest | null;
  measure: "members" | "tokens";
}

/**
 * Something that a report cites.
 *
 * Attributes:
 *     number: 1…, by which segments of the report's statements refer to it.
 *     kind: what is cited.
 *     record_id: its id; null where the citation was invalid.
 *     title: what it is called; of words, the title of their document; of the invalid, as it was written.
 *     valid: it was in the context that the report was written from.
 *     place: the words quoted, or the first of those that what is cited rests on; null where none are known.
 */
export interface CommunityCitation {
  number: number;
  kind: "entity" | "relationship" | "claim" | "report" | "text_unit";
  record_id: string | null;
  title: string;
  valid: boolean;
  place: Place | null;
}

/**
 * A community.
 *
 * Attributes:
 *     community_id: its id, which is that of its report.
 *     number: small number by which texts cite its report.
 *     level: 0 for the coarsest of the clustering, below 0 for levels above C0.
 *     title: of its report.
 *     summary: the first 300 characters of its report's summary, without marks of citations.
 *     size: member entities.
 *     value: the same.
 *     rating: importance by the report, 0–10; null without a report.
 *     parent_id: the community that it was split from; null at the top.
 *     rating_explanation: what the rating rests on.
 *     engine: what wrote the report; null without a report.
 *     problem: why a model's report was replaced; null where none was.
 *     tokens: of the distinct text units that mention any member.
 *     path: the communities that hold it, the root first.
 *     children: at most 400 of those that it was split into, the largest first.
 *     children_total: how many there are.
 *     members: at most 200 entities, those of the highest degree first.
 *     members_total: how many there are.
 *     statements: the report: its summary, then its findings; empty without a report.
 *     citations: what they cite, by number.
 */
export interface CommunityPage {
  community_id: string;
  number: number;
  level: number;
  title: string;
  summary: string;
  size: number;
  value: number;
  rating: number | null;
  parent_id: string | null;
  rating_explanation: string;
  engine: string | null;
  problem: string | null;
  tokens: number;
  path: Cell[];
  children: Cell[];
  children_total: number;
  members: Member[];
  members_total: number;
  statements: ReportStatement[];
  citations: CommunityCitation[];
}

/**
 * A row of the context, the number of its chunk, and its tokens there.
 *
 * ``used``: whether the partial answer of its chunk went into the answer. ``text``: its text, if no table of
 * the index has it.
 */
export interface ContextUse {
  kind: string;
  record_id: string;
  title: string;
  chunk: number;
  tokens: number;
  used: boolean;
  text: string | null;
  [key: string]: unknown;
}

/** A corpus that can be asked. */
export interface CorpusEntry {
  name: string;
  /** version of the snapshot, as listed by the command `snapshots` */
  version: string | null;
}

/** The corpora that can be asked, and those that cannot yet. */
export interface CorpusList {
  corpora: CorpusEntry[];
  /** names of the corpora that have not been indexed yet */
  unindexed: string[];
}

/** How many rows of each sort a corpus has; ``tokens`` are those of all text units. */
export interface Counts {
  documents: number;
  text_units: number;
  tokens: number;
  entities: number;
  relationships: number;
  claims: number;
  communities: number;
  reports: number;
  quarantined: number;
  files_not_read: number;
  files_read_in_part: number;
}

/**
 * A row that came, went or changed.
 *
 * Attributes:
 *     id: of the entity, community, report or document; of what went, as it was.
 *     title: what it is called.
 *     what: of what changed, what differs, such as ``degree 3 → 5``, or ``degree`` where the older snapshot
 *         is gone; empty of others.
 */
export interface Difference {
  id: string;
  title: string;
  what: string[];
}

/** How many rows came, went or changed. */
export interface DifferenceCounts {
  came_total: number;
  went_total: number;
  changed_total: number;
}

/**
 * Rows that came, went or changed: at most 100 of each, and how many there are.
 *
 * None that went are listed where the older snapshot is gone.
 */
export interface Differences {
  came: Difference[];
  went: Difference[];
  changed: Difference[];
  came_total: number;
  went_total: number;
  changed_total: number;
}

/** An entity that a document names; ``mentions`` counts the places. */
export interface DocumentEntity {
  entity_id: string;
  title: string;
  type: string;
  mentions: number;
}

/**
 * The file of a document.
 *
 * Attributes:
 *     status: what became of it.
 *     reason: why, or what was odd about it.
 *     incomplete: something in it is in no document; null for graphs.
 *     bytes: its size.
 *     format: its reader.
 */
export interface DocumentFile {
  status: string;
  reason: string | null;
  incomplete: boolean | null;
  bytes: number;
  format: string | null;
}

/**
 * What would go or change without a document; the communities are taken to stay as they are.
 *
 * Attributes:
 *     document_id: of the document.
 *     counts: rows of each sort that go, change, or would be asked for again at most.
 *     totals: rows of the corpus by sort.
 *     copies: paths of files with the same content, which would take its place.
 *     entities: at most 50, those that go first; before and after.
 *     relationships: in the same way.
 *     claims: in the same way.
 *     communities: at most 50 that lose members.
 *     reports: at most 50 whose context shows what goes or changes.
 *     answers: at most 50 that cite it, or were shown what goes or changes.
 *     found: how many there are of each of these sorts.
 */
export interface DocumentImpact {
  document_id: string;
  counts: Record<string, number>;
  totals: Record<string, number>;
  copies: string[];
  entities: Record<string, unknown>[];
  relationships: Record<string, unknown>[];
  claims: Record<string, unknown>[];
  communities: Record<string, unknown>[];
  reports: Record<string, unknown>[];
  answers: Record<string, unknown>[];
  found: Record<string, number>;
}

/**
 * A document.
 *
 * Attributes:
 *     document_id: its id.
 *     number: small number, 0….
 *     title: its title.
 *     path: of its file, below the corpus folder.
 *     row: in a table-like file, 0…; null in others.
 *     date: as the file gives it.
 *     characters: length of the text in code points.
 *     metadata: what else the file says of it.
 *     units: at most 500 text units, in its order.
 *     units_total: how many there are.
 *     entities: at most 100 that it names, the most often named first.
 *     entities_total: how many there are.
 *     file: what became of its file; null for documents that come from elsewhere.
 */
export interface DocumentPage {
  document_id: string;
  number: number;
  title: string;
  path: string;
  row: number | null;
  date: string | null;
  characters: number;
  metadata: Record<string, unknown>;
  units: DocumentUnit[];
  units_total: number;
  entities: DocumentEntity[];
  entities_total: number;
  file: DocumentFile | null;
}

/**
 * A stretch of a document's text.
 *
 * Attributes:
 *     start: its first character, in code points.
 *     end: one past its last.
 *     characters: length of the whole text.
 *     parts: the text from ``start`` to ``end`` without a gap.
 *     entities: those that are named in it, by title.
 *     claims: those that it makes.
 */
export interface DocumentText {
  start: number;
  end: number;
  characters: number;
  parts: TextPart[];
  entities: TextEntity[];
  claims: TextClaim[];
}

/**
 * A text unit of a document.
 *
 * Attributes:
 *     text_unit_id: its id.
 *     position: place among the units of the document, 0….
 *     start_char: first character in the document's text.
 *     end_char: one past the last.
 *     tokens: its length.
 *     state: how extraction ended; null where nothing was extracted.
 *     entities: records of entities kept.
 *     relationships: records of relationships kept.
 *     claims: records of claims kept.
 */
export interface DocumentUnit {
  text_unit_id: string;
  position: number;
  start_char: number;
  end_char: number;
  tokens: number;
  state: string | null;
  entities: number;
  relationships: number;
  claims: number;
}

/**
 * A drawing of the whole graph, or of a community.
 *
 * Attributes:
 *     level: k of Ck, whose communities nodes belong to.
 *     within: the community that is drawn; null for the whole graph.
 *     nodes: what is drawn, entities first.
 *     edges: places of two nodes, and the weight of the relationships between them, the heaviest first.
 *     communities: those that nodes belong to, the largest first.
 *     entities: how many there are in what is drawn.
 *     drawn: how many of them are drawn as themselves.
 *     aggregated: how many of them others stand for.
 *     edges_left_out: edges between nodes that are not drawn, because there are heavier ones.
 */
export interface Drawn {
  level: number;
  within: string | null;
  nodes: Node[];
  edges: [number, number, number][];
  communities: DrawnCommunity[];
  entities: number;
  drawn: number;
  aggregated: number;
  edges_left_out: number;
}

/** A community that nodes belong to. */
export interface DrawnCommunity {
  community_id: string;
  number: number;
  title: string;
  level: number;
}

/** A claim that an entity is the subject or the object of; ``status`` is TRUE, FALSE or SUSPECTED. */
export interface EntityClaim {
  claim_id: string;
  type: string;
  status: string;
  description: string;
}

/** A community that an entity is a member of. */
export interface EntityCommunity {
  community_id: string;
  level: number;
  title: string;
}

/**
 * An entity.
 *
 * Attributes:
 *     entity_id: its id.
 *     number: small number by which texts cite it.
 *     title: its commonest full name.
 *     name: the same, normalised.
 *     names: all spellings, the most frequent first.
 *     type: what it is.
 *     description: merged from what the texts say.
 *     description_engine: what merged it.
 *     degree: distinct neighbours.
 *     frequency: text units that mention it.
 *     instances: records of it that were extracted.
 *     documents: documents that mention it.
 *     neighbours: at most 100, the heaviest relationships first.
 *     neighbours_total: how many there are.
 *     communities: those that it is a member of, the coarsest first.
 *     claims: at most 50.
 *     claims_total: how many there are.
 *     mentions: the first 20 places that name it.
 */
export interface EntityPage {
  entity_id: string;
  number: number;
  title: string;
  name: string;
  names: string[];
  type: string;
  description: string;
  description_engine: string;
  degree: number;
  frequency: number;
  instances: number;
  documents: number;
  neighbours: Neighbour[];
  neighbours_total: number;
  communities: EntityCommunity[];
  claims: EntityClaim[];
  claims_total: number;
  mentions: Mentions;
}

/** The body of every answer that is no success. */
export interface ErrorBody {
  error: ErrorDetail;
}

/** Why a request was refused or failed. */
export interface ErrorDetail {
  /** what happened, for programs */
  type: string;
  /** what happened and how to fix it, for people */
  message: string;
}

/**
 * A clue as reported in an answer: the number of favoured documents and their weight.
 *
 * ``only``: whether no other documents were searched.
 */
export interface Favoured {
  kind: "document" | "period" | "folder" | "place";
  words: string;
  documents: number;
  weight: number;
  only: boolean;
  [key: string]: unknown;
}

/** which documents to answer from; all that is given has to hold */
export interface Filters {
  /** titles, paths, file names or ids of documents; any of them */
  documents?: string[];
  /** folders below the corpus folder; any of them */
  folders?: string[];
  /** first day or period, such as 2019-07-01, July 2019 or FY24 Q2 */
  date_from?: string | null;
  /** last day or period */
  date_to?: string | null;
  /** conditions on metadata: key, one of = != < <= > >=, value; all of them */
  where?: string[];
  /** favour passages of the documents and periods that the question names; default: as the settings of the corpus say */
  soft?: boolean | null;
}

/**
 * What has all words of a query, whatever their case and accents.
 *
 * Attributes:
 *     query: what was looked for.
 *     entities: by name: those that are called so, then those that begin so, then by degree.
 *     entities_total: how many there are.
 *     reports: by title and text, the most important first.
 *     reports_total: how many there are.
 *     documents: by title and path, in the order of the corpus.
 *     documents_total: how many there are.
 *     passages: text units in the order of the corpus, each as the sentence of the first of the words.
 *     passages_total: how many there are.
 */
export interface Found {
  query: string;
  entities: FoundEntity[];
  entities_total: number;
  reports: FoundReport[];
  reports_total: number;
  documents: FoundDocument[];
  documents_total: number;
  passages: Place[];
  passages_total: number;
}

/** A document with all words in its title or path. */
export interface FoundDocument {
  document_id: string;
  title: string;
  path: string;
}

/** An entity with a name that has all words; ``name`` is the spelling that does. */
export interface FoundEntity {
  entity_id: string;
  title: string;
  type: string;
  degree: number;
  name: string;
}

/** A community whose report has all words. */
export interface FoundReport {
  community_id: string;
  level: number;
  title: string;
  snippet: Snippet;
}

/** A level Ck: how many communities it has, and how many entities lie in them. */
export interface LevelCount {
  level: number;
  communities: number;
  entities: number;
}

/**
 * A row with its text, its evidence and the rows it was made from.
 *
 * ``facts`` are other columns of the row; ``left_out`` counts the source rows that are missing from
 * ``steps``.
 */
export interface LineageStep {
  kind: string;
  id: string;
  title: string;
  text: string;
  facts: Record<string, unknown>;
  evidence: (Words | Triple | Row | Written)[];
  steps: LineageStep[];
  left_out: number;
}

/** Where a cell leads to: the kind of page, and the column of the same row that holds the id. */
export interface Link {
  kind: "entity" | "community" | "document";
  column: string;
}

/** An entity of a community; ``degree`` counts its neighbours in the whole graph. */
export interface Member {
  entity_id: string;
  title: string;
  type: string;
  degree: number;
}

/** Entities of a community, those of the highest degree first; ``total`` of all. */
export interface Members {
  total: number;
  offset: number;
  members: Member[];
}

/**
 * Where an entity is named, in the order of the corpus.
 *
 * Attributes:
 *     total: how many places there are.
 *     offset: how many of them come before the first of these.
 *     mentions: each in its sentence; of text units that mention it where no words are known, the beginning.
 */
export interface Mentions {
  total: number;
  offset: number;
  mentions: Place[];
}

/**
 * A search method.
 *
 * Attributes:
 *     name: by which it is asked for.
 *     text: what it reads, in a line.
 *     levelled: a community level may be chosen for it.
 *     level: the level that it always reads; null where it reads none, or one of choice.
 *     suits_chat: it is for people who ask; the others are conditions of comparisons.
 */
export interface MethodChoice {
  name: string;
  text: string;
  levelled: boolean;
  level: number | null;
  suits_chat: boolean;
}

/**
 * An entity that is related to another.
 *
 * Attributes:
 *     entity_id: its id.
 *     title: its name.
 *     type: what it is.
 *     relationship_id: of the relationship between the two.
 *     weight: of the relationship.
 *     description: of the relationship.
 */
export interface Neighbour {
  entity_id: string;
  title: string;
  type: string;
  relationship_id: string;
  weight: number;
  description: string;
}

/** Entities that are related to one, the heaviest relationships first; ``total`` of all. */
export interface Neighbours {
  total: number;
  offset: number;
  neighbours: Neighbour[];
}

/**
 * A node to draw.
 *
 * Attributes:
 *     id: of the entity or the community; ``rest`` for what is left.
 *     kind: an entity, a community in place of those of its members that are not drawn, or all the rest.
 *     label: title of the entity, or of the community's report.
 *     type: of an entity; null for others.
 *     x: place from left to right; of what stands for several, the mean of theirs.
 *     y: place from bottom to top.
 *     size: neighbours of an entity, members that others stand for.
 *     community: place among the communities of the drawing; null where it is in none.
 *     members: entities that it stands for; 1 for an entity.
 */
export interface Node {
  id: string;
  kind: "entity" | "community" | "rest";
  label: string;
  type: string | null;
  x: number;
  y: number;
  size: number;
  community: number | null;
  members: number;
}

/**
 * A corpus in one look.
 *
 * Attributes:
 *     corpus: its name.
 *     description: its subject, as the settings say; null where they do not.
 *     version: of the snapshot that is read.
 *     published: when that was published, UTC in ISO 8601.
 *     counts: how much there is of everything.
 *     levels: the levels C0, C1, … with their communities.
 *     methods: search methods, those for people first; none where the settings cannot be used.
 *     default_method: the one that is taken where none is named.
 *     default_level: k of Ck where none is named, at most the deepest there is.
 *     engine: what answers: extractive, or llm.
 *     index_model: name of the model that the index was made with; null where none was used.
 *     answer_model: name of the model that answers; null where none does.
 *     unread: at most 50 files that were not read, then those that were read in part.
 *     questions: at most six to begin with, the corpus's own first.
 *     unclustered: entities that are in no community.
 *     notes: what was quarantined or is open, a sentence each.
 */
export interface Overview {
  corpus: string;
  description: string | null;
  version: string | null;
  published: string | null;
  counts: Counts;
  levels: LevelCount[];
  methods: MethodChoice[];
  default_method: string | null;
  default_level: number | null;
  engine: string | null;
  index_model: string | null;
  answer_model: string | null;
  unread: UnreadFile[];
  questions: string[];
  unclustered: number;
  notes: string[];
}

/**
 * Words of a document.
 *
 * Attributes:
 *     document_id: of the document.
 *     document_title: its title.
 *     path: of its file, below the corpus folder.
 *     text_unit_id: the text unit that the words were read in.
 *     start_char: first character in the document's text, in code points.
 *     end_char: one past the last.
 *     before: the rest of the sentences that the words touch, in front.
 *     words: the characters themselves; where ``exact`` is false, at most the first 1,000 of them.
 *     after: the rest of these sentences, behind.
 *     exact: the words themselves are known; otherwise the characters are the whole text unit.
 */
export interface Place {
  document_id: string;
  document_title: string;
  path: string;
  text_unit_id: string;
  start_char: number;
  end_char: number;
  before: string;
  words: string;
  after: string;
  exact: boolean;
}

/**
 * A query and its meaning in words.
 *
 * Attributes:
 *     template: name of its template; None if a model wrote it.
 *     reading: how the question was interpreted.
 *     sql: one select statement.
 *     parameters: values of its ``$names``.
 */
export interface Query {
  template: string | null;
  reading: string;
  sql: string;
  parameters: Record<string, unknown>;
  [key: string]: unknown;
}

/**
 * The summary or a finding of a report.
 *
 * Attributes:
 *     position: place among the findings, 0…; -1 for the summary.
 *     heading: of the finding; blank for the summary.
 *     segments: its text, cut where it cites, without the marks.
 */
export interface ReportStatement {
  position: number;
  heading: string;
  segments: Segment[];
}

/**
 * Communities that are too many to be listed.
 *
 * Attributes:
 *     communities: how many.
 *     size: their members, summed.
 *     value: what is measured of them, summed.
 */
export interface Rest {
  communities: number;
  size: number;
  value: number;
}

/**
 * A row of a table of the index, or of a query result.
 *
 * ``table`` is ``schema.table`` and ``key`` the row's key there. For a row of a query result ``table`` is
 * ``query`` and ``key`` the row's position, 1…, or ``total``. ``values`` are the columns to display.
 */
export interface Row {
  table: string;
  key: string;
  title: string;
  values: Record<string, string | number | boolean | null>;
  kind: "row";
}

/**
 * What a question was restricted to.
 *
 * ``filters`` are as requested. Each pair has the count inside the scope and in the whole corpus. ``notes``
 * say how names were resolved and what was left out for lack of a date.
 */
export interface Scope {
  filters: Record<string, unknown>;
  documents: [number, number];
  text_units: [number, number];
  reports: [number, number];
  notes: string[];
  [key: string]: unknown;
}

/** A piece of text, and the numbers of the citations that stand behind it. */
export interface Segment {
  text: string;
  citations: number[];
}

/**
 * A snapshot of a corpus.
 *
 * Attributes:
 *     version: hash of its content.
 *     published: when it became current, UTC in ISO 8601.
 *     run_id: the run that made it; null where it is not known.
 *     documents: how many there are.
 *     entities: how many there are.
 *     reports: how many there are.
 *     bytes: size of its file.
 *     current: it is the one that is read.
 */
export interface Snapshot {
  version: string;
  published: string;
  run_id: string | null;
  documents: number;
  entities: number;
  reports: number;
  bytes: number;
  current: boolean;
}

/** The first of the words that were looked for, and what stands around it. */
export interface Snippet {
  before: string;
  words: string;
  after: string;
}

/**
 * What the mark ``[number]`` in an answer refers to, with its evidence.
 *
 * ``kind``, ``record_id`` and ``title`` identify the cited row: a report, entity, relationship, claim or
 * text unit (``source``), a community's ``summary`` or a ``triple`` of CoTeRAG-S, a result row of a query
 * (``row``), or a model's own knowledge (``own_context``), which no mark cites. ``finding`` is the position
 * of the report's finding that rests on the words, -1 for its summary. ``via_kind`` and ``via_id`` identify
 * the relationship, entity or triple that led to the words. ``evidence`` is the words. If none are found, a
 * relationship has itself as a triple and other rows have none. A result row is its own evidence, with the
 * words that it stands for if there are any. ``similarity``: 0–1, of the words to the nearest statement that
 * cites them.
 */
export interface Source {
  number: number;
  kind: string;
  record_id: string;
  title: string;
  finding: number | null;
  via_kind: string | null;
  via_id: string | null;
  evidence: Words | Triple | Row | Written | null;
  similarity: number | null;
  [key: string]: unknown;
}

/** Half-open range of characters in a text unit: ``text[start:end]``. */
export interface Span {
  start: number;
  end: number;
  [key: string]: unknown;
}

/**
 * A sentence of an answer, the numbers of its sources, and its similarity to the nearest one, 0–1.
 *
 * ``verdict``: whether the cited words support it. ``score``, 0–1: the probability that a person would say
 * so. ``reason``: why they do not fully. ``general``: whether it is marked as general knowledge, which has
 * no verdict. ``marks``: the words that answer the question, as characters of ``text``.
 */
export interface Statement {
  text: string;
  sources: number[];
  similarity: number;
  verdict: "supported" | "partly" | "not" | null;
  score: number | null;
  reason: string;
  general: boolean;
  marks: Span[];
  [key: string]: unknown;
}

/** A column of a table, what its values are and mean; ``hidden``: an id to link to. */
export interface TableColumn {
  name: string;
  type: "text" | "number" | "boolean" | "list";
  meaning: string;
  hidden: boolean;
}

/**
 * Rows of a table.
 *
 * Attributes:
 *     name: of the table.
 *     columns: in order, those that are hidden among them.
 *     rows: values by column; texts are cut at 500 characters.
 *     total: how many rows there are.
 *     matching: how many of them have all words of the filter.
 *     offset: how many of these come before the first of the rows.
 *     links: by the name of a column, where its cells lead to.
 */
export interface TablePage {
  name: string;
  columns: TableColumn[];
  rows: ((string | number | boolean | string[] | null)[])[];
  total: number;
  matching: number;
  offset: number;
  links: Record<string, Link>;
}

/**
 * A table that can be looked through.
 *
 * Attributes:
 *     name: by which it is asked for.
 *     title: for people.
 *     columns: in order.
 *     rows: how many there are.
 */
export interface TableView {
  name: string;
  title: string;
  columns: TableColumn[];
  rows: number;
}

/** A claim that a text makes; ``status`` is TRUE, FALSE or SUSPECTED. */
export interface TextClaim {
  claim_id: string;
  description: string;
  status: string;
}

/** An entity that is named in a text. */
export interface TextEntity {
  entity_id: string;
  title: string;
  type: string;
}

/**
 * A piece of a document's text, inside of which no mark begins or ends.
 *
 * Attributes:
 *     start: first character in the document's text, in code points.
 *     text: the characters.
 *     entities: what is named here, as places in the list of entities.
 *     claims: what is claimed here, as places in the list of claims.
 *     cited: it is what was asked for as cited.
 */
export interface TextPart {
  start: number;
  text: string;
  entities: number[];
  claims: number[];
  cited: boolean;
}

/**
 * A table of a trace; a table with a single row is a list of facts.
 *
 * Attributes:
 *     title: of the table.
 *     columns: names of the columns.
 *     rows: cells in the order of the columns; None for an empty cell.
 *     links: rows of the index that cells link to.
 */
export interface TraceSection {
  title: string;
  columns: string[];
  rows: ((string | number | boolean | null)[])[];
  links: CellLink[];
  [key: string]: unknown;
}

/**
 * A relationship of the graph, and the text unit that it was first extracted from.
 *
 * ``predicate`` is the relationship's description. A relationship extracted from text has no direction, so
 * its subject and object are interchangeable. ``row`` counts from 0 if the document is a row of a table-like
 * file.
 */
export interface Triple {
  relationship_id: string;
  subject_id: string;
  subject: string;
  predicate: string;
  object_id: string;
  object: string;
  document_id: string;
  document_title: string;
  path: string;
  row: number | null;
  text_unit_id: string;
  kind: "triple";
}

/** An earlier question and its answer. */
export interface TurnBody {
  question: string;
  answer: string;
}

/** Text units of a document, in its order; ``total`` of all. */
export interface Units {
  total: number;
  offset: number;
  units: DocumentUnit[];
}

/**
 * A file that was not read, or only in part.
 *
 * Attributes:
 *     path: below the folder of the corpus.
 *     reason: why, for people; empty where none is known.
 *     in_part: some of it was read.
 */
export interface UnreadFile {
  path: string;
  reason: string;
  in_part: boolean;
}

/** The usage of a task, and how many replies had to be repaired; all zero for the extractive engine. */
export interface Usage {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  repaired: number;
  [key: string]: unknown;
}

/**
 * Characters ``start_char`` to ``end_char`` of a document's text, with their text as ``quotation``.
 *
 * They count code points of the column ``text`` of ``corpus.documents``, which is the text as it was read:
 * without front matter and byte order mark, with line ends as one character.
 *
 * ``before`` and ``after`` are the rest of the sentences that the words touch. ``exact``: the words
 * themselves are known; otherwise they are the whole text unit that a row came from, or those of its
 * sentences that name both ends of a relationship.
 */
export interface Words {
  document_id: string;
  document_title: string;
  path: string;
  text_unit_id: string;
  start_char: number;
  end_char: number;
  quotation: string;
  before: string;
  after: string;
  exact: boolean;
  kind: "words";
}

/** Text that a model wrote from its own knowledge, without a document. */
export interface Written {
  text: string;
  kind: "written";
}
