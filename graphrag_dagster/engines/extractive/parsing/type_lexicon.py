"""Entity types, and the nouns that tell the type of a name."""

from typing import Final

from graphrag_dagster.kernel.text.english_words import word_set

PERSON: Final = "PERSON"
ORGANIZATION: Final = "ORGANIZATION"
GEO: Final = "GEO"
EVENT: Final = "EVENT"
LAW: Final = "LAW"
WORK: Final = "WORK"
PRODUCT: Final = "PRODUCT"
VESSEL: Final = "VESSEL"
CONCEPT: Final = "CONCEPT"

#: Labels of spaCy's pipelines that names have, and the types they become.
LABELS: Final = {
    "PERSON": PERSON,
    "ORG": ORGANIZATION,
    "GPE": GEO,
    "LOC": GEO,
    "FAC": GEO,
    "EVENT": EVENT,
    "LAW": LAW,
    "WORK_OF_ART": WORK,
    "PRODUCT": PRODUCT,
}

_ORGANIZATIONS = """
academy administration agency airline airlines airways alliance army assembly association authority bank
banks board brewery brewing bureau cabinet center centre chamber charity choir church club co-operative
coalition college commission committee commons communications company congress conservancy consortium
constabulary consulting cooperative corp corporation council courant court department directorate
dredging ensemble enterprises entertainment exchange executive federation firm force forum foundation
fund gazette gmbh government group guild herald holdings hospital inc incorporated industries
inspectorate institute institutes institution insurance insurer journal lab laboratories laboratory labs
league library limited line lines llc lloyd's llp logistics ltd manufacturing ministry motors museum
mutual navy network newspaper observatory office orchestra organisation organization parliament partners
partnership party pharmaceuticals philharmonic pictures plc police press publisher publishers publishing
records regiment register registry school secretariat senate service services shipping shipyard societies
society solicitors solutions steelworks studio studios syndicate systems taskforce team technologies
telecom telecommunications trading tribunal tribune trust union universities university ventures works
"""
_PLACES = """
abbey airport alley archipelago avenue bank basin bay beach boulevard bridge brook canal cape castle
cathedral cave cemetery channel churchyard city cliff close coast common copse cottage county cove
crescent dam district dock docks drive empire estate estuary farm field fields firth fjord ford forest
fort garden gardens gate glacier gorge green gulf hall harbor harbour heath highway hill hills hotel
house inlet island islands isle isles junction kingdom kirk lake lane loch lodge lough mall manor marina
market marsh meadow memorial mews mill mole monument moor mount mountain mountains ocean palace parish
park pass path peak peninsula pier place plain plateau plaza point pond port prison province pub quarry
quay reef region republic reservoir ridge river road roads rocks route row ruins sands sea shore shrine
site sound square stack station strait straits strand stream street suburb terrace theater theatre tower
town townland trail tunnel valley viaduct village voivodeship volcano ward warehouse waterfall way wharf
wood woods wynd yard
"""
_EVENTS = """
accident award awards battle ceremony championship championships conference congress contest crisis cup
disaster earthquake election elections exhibition expedition fair festival final flood gala gale games
hurricane inquest inquiry massacre olympics pandemic prize race rebellion referendum reformation regatta
revolution riot riots siege storm strike summit symposium tournament tragedy trial trophy typhoon
uprising war wars wedding
"""
_LAWS = """
accord accords act agreement amendment charter clause condition constitution convention covenant decree
directive law licence license ordinance pact patent protocol regulation regulations statute treaty
"""
_WORKS = """
album anthem ballad bible book carol chronicle diary documentary film gospel hymn manifesto memoir movie
novel opera painting play podcast poem report sonata song symphony
"""
_VESSELS = """
aircraft barge boat cruiser cutter destroyer dredger drifter ferry freighter frigate lifeboat liner schooner
ship spacecraft steamer submarine tanker trawler tug vessel yacht
"""
_PRODUCTS = """
app application browser camera car chatbot compiler computer console database device engine extension
framework language laptop locomotive missile model phone platform plugin processor programme proxy rocket
smartphone software spreadsheet tablet telescope tool toolkit turbine utility webserver
"""
#: Nouns for people; at the end of a capitalised term they name an office, not who holds it.
_PEOPLE = """
accountant actor actress adviser advisor advocate ambassador analyst archaeologist architect artist
assistant astronaut astronomer attorney aunt author baker banker barrister biologist bishop boatman bosun
boy broker brother builder butcher candidate captain carpenter chair chairman chairperson chairwoman
chancellor charwoman chef chemist chief child clerk co-founder coach colleague columnist commander
commissioner composer conductor constable consultant convener coordinator coroner correspondent councillor
counsel cousin cox coxswain crewman critic curator dancer daughter dean deckhand defendant deputy designer
detective developer diplomat director doctor economist editor employee engineer entrepreneur ethicist
executive farmer father fellow fireman fisherman fishmonger footballer foreman founder friend general
geologist girl governor grandfather grandmother grandson guest guitarist head historian host husband
illustrator inspector inventor investigator investor journalist judge lawyer leader lecturer librarian
lieutenant magistrate man manager managing mariner mate mathematician mayor mechanic member merchant
midwife minister mother musician narrator nephew niece novelist nurse observer officer official owner
painter partner physician physicist pianist pilot pioneer plumber poet policeman politician porter
president priest producer professor programmer prosecutor protagonist provost psychologist publisher
realtor reporter representative researcher resident sailor scholar scientist secretary senator sergeant
sheriff shipwright shopkeeper singer sister skipper soldier solicitor son speaker specialist spokesman
spokesperson spokeswoman steward student superintendent surgeon surveyor survivor tailor teacher
technician tenant thinker trader treasurer trustee uncle undersecretary veteran vicar victim volunteer
waiter warden widow wife witness woman worker writer
"""


def _types(*groups: tuple[str, str]) -> dict[str, str]:
    return {word: kind for words, kind in groups for word in words.split()}


#: Last word of a name → type. A word of two types stands with the commoner one.
HEADS: Final = _types(
    (_WORKS, WORK), (_LAWS, LAW), (_EVENTS, EVENT), (_PLACES, GEO), (_ORGANIZATIONS, ORGANIZATION)
)
_NOUNS_OF_WORKS = (
    "comic drama episode game games magazine musical serial series show single sitcom soundtrack track"
)
_NOUNS_OF_GROUPS = (
    "band brand broadcaster carrier conglomerate duo group manufacturer operator retailer startup subsidiary"
)
_NOUNS_OF_PLACES = """
borough capital commune continent country hamlet municipality nation neighborhood neighbourhood
prefecture range settlement territory township
"""
#: Common noun that says what stands beside it ("the barge Atlas Nine", "X, a town") → type.
KINDS: Final = HEADS | _types(
    (_PRODUCTS, PRODUCT), (_VESSELS, VESSEL), (_PEOPLE, PERSON), (_NOUNS_OF_WORKS, WORK),
    (_NOUNS_OF_GROUPS, ORGANIZATION), (_NOUNS_OF_PLACES, GEO),
)  # fmt: skip
PEOPLE: Final = word_set(_PEOPLE)
#: First word of a name → type ("Lake Como", "Storm Agda").
FIRST_WORDS: Final = _types(
    ("lake mount loch lough port cape isle gulf fort mt", GEO), ("storm hurricane typhoon operation", EVENT)
)
#: Words before "of" in names of people ("Duke of Wellington").
NOBLES: Final = word_set(
    """
    archbishop baron baroness bishop count countess duchess duke earl emperor empress ghost king
    lady lord marquess pope prince princess queen spirit sultan viscount
    """
)
#: Words after which a name goes on with "of" or "for" ("University of Averness", "Isle of Man").
TAKES_OF: Final = frozenset(HEADS) | NOBLES | {"laws"}
#: Names that end so may hold an "and" ("Port and Pilotage Board").
JOINED_BY_AND: Final = word_set(
    """
    agency association authority board bureau centre commission committee company corporation
    council department fund group institute laboratory ministry museum office partners press school
    service services society sons trust union
    """
)
#: Words that end names of places and things, and are surnames as well.
SURNAMES: Final = word_set(
    """
    bank banks battle beach bell bond book brook brooks carol chambers church cliff close cross
    field fields ford forest forum garden gates grant green hall heath hill house lake lane law
    marsh mills parish park point pond pool rivers rowe sands street temple towers underhill war
    ward waters wells wood woods yard
    """
)
#: Bodies that are called after fields, often two ("Ministry of Education and Research").
BODIES_OF_FIELDS: Final = word_set(
    """
    academy association board bureau centre center chamber college committee commission council
    department faculty hospital institute ministry office school society
    """
)
#: What bodies of several words are called after ("Olympic Hall of Fame", "Federal Court of Appeals").
FIELDS: Final = word_set(
    """
    agriculture appeals art arts commerce commons defence defense economics education energy engineering
    fame health history justice labor labour law medicine music representatives science sciences state
    technology trade transport transportation
    """
)
#: Possessors that are part of a name ("King's College", "St Ronan's Kirk").
POSSESSIVE_NAMES: Final = word_set(
    """
    children christie devil farmer fisherman god king lloyd mariners men orphan people prince queen
    saint scholar seamen sotheby st veterans widow woman women workers
    """
)
HOLIDAYS: Final = word_set(
    """
    candlemas christmas diwali easter eid halloween hanukkah hogmanay lent michaelmas passover pentecost
    ramadan thanksgiving whitsun
    """
)
#: Acronyms of places; others that the recogniser takes for places mostly are not.
PLACE_ACRONYMS: Final = word_set(
    """
    DC EU GDR HK LA NYC NZ SF UAE UK UN US USA USSR
    """
)
#: Acronyms and other short terms that name no organisation: fields, protocols, formats, measures.
TERMS: Final = word_set(
    """
    agi ai api apis ar ascii asgi basic blob ca cad capex cdn cgi ci cli cors covid covid-19 cpu
    cpus crispr crm crud csrf css csv dhcp dhtml dna dns dom dos dram ebitda eps erp esg ev evs
    faq ftp gaap gdp gif gmt gps gpt gpu gpus gui hiv hpc hr html http https iaas icmp ide imap
    iot ip ipo ipv4 ipv6 jpeg json jwt kpi lan ldap llm llms lte mba mfa mime ml mp3 mrna nat nfc
    nlp oauth ocr ohttp opex orm os paas pc pcr pcs pdf pki png pr quic ram rest rna roi rom rpc
    rss saas saml sdk sdks sla smb smtp sms socks socks5 sql ssd ssh ssl sso stem svg tcp tls toml
    tpu tsv tv udp ui unicode uri uris url urls usb utc utf utf-8 uuid ux vm vms vpn vr wan webrtc
    websocket websockets wi-fi wifi wsgi xhtml xml xr xss yaml
    """
)
#: Software, machines and services that are widely known by a name which says nothing of its kind.
KNOWN_PRODUCTS: Final = word_set(
    """
    alexa android ansible apache azure bash bing bitcoin bluetooth chatgpt chrome chromium clojure
    cobol copilot cortana debian django docker elasticsearch erlang ethereum excel fedora firefox
    flask fortran freebsd git gmail grafana hadoop haskell helm ios ipad iphone java javascript
    jenkins jira jquery jupyter kafka kinect kindle kotlin kubernetes linux macos mathematica
    matlab minecraft mongodb mysql nginx node.js numpy openssl outlook pandas perl photoshop php
    playstation postgres postgresql powerpoint prometheus pytest python pytorch rails redis roomba
    scala sharepoint siri sqlite tensorflow terraform typescript ubuntu unix vscode webassembly
    webpack windows xbox
    """
)
#: Companies that are widely known by a name which says nothing of its kind.
KNOWN_COMPANIES: Final = word_set(
    """
    accenture adobe airbnb alibaba amazon apple atlassian autodesk boeing cloudflare coursera
    deepmind dropbox ebay ericsson facebook fujitsu github gitlab google heroku hitachi honeywell
    huawei ibm intel kickstarter lenovo linkedin lyft mckinsey microsoft motorola mozilla netflix
    nokia nvidia openai oracle panasonic paypal pfizer pinterest qualcomm reddit salesforce
    samsung shopify siemens sony spacex spotify stripe tesla toshiba toyota twilio twitter uber
    vercel verizon vmware walmart xerox yahoo youtube
    """
)
#: Nouns that software and machines stand before ("Docker containers", "a Kafka cluster").
OF_PRODUCTS: Final = word_set(
    """
    api apis app application applications apps browser browsers binary build builds cli client
    clients cluster clusters command commands configuration container containers database
    databases desktop dialect documentation driver drivers endpoint endpoints environment
    extension extensions feature features file files framework instance instances kernel library
    libraries machine machines module modules package packages platform plugin plugins portal
    process processes runtime script scripts server servers service shell subscription
    subscriptions syntax tool tools user users version versions website workload workloads
    """
)
#: What the names of products hold that are called after products or companies ("Google Cloud Run").
MADE: Final = KNOWN_PRODUCTS | KNOWN_COMPANIES
#: Words of names of products, which nobody is called.
PRODUCT_WORDS: Final = word_set(
    "app apps browser cloud desktop framework os plugin server software suite toolkit"
)
#: Names of places that are given names, too; alone they are places.
PLACES_LIKE_PEOPLE: Final = word_set(
    """
    adelaide alexandria austin brooklyn carolina chad charlotte chelsea cheyenne dakota dallas
    denver devon diego florence france georgia holland houston israel jackson jordan kent lincoln
    london lourdes madison milan montana orlando paris phoenix regina savannah siena sofia sydney
    trent troy tyrone victoria vienna virginia washington
    """
)
#: Last parts of names that programs give to what they are made of ("DigestAuth", "NotFoundError").
CODE_ENDINGS: Final = (
    *("Auth", "Client", "Config", "Context", "Error", "Exception", "Factory", "Handler", "Jar", "Manager"),
    *("Middleware", "Object", "Options", "Parser", "Request", "Resource", "Response", "Settings", "Stream"),
    *("Test", "Timeout", "Transport", "Type", "Warning"),
)
