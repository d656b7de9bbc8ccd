"""What is said: texts, images, files, and what hangs on them."""

from __future__ import annotations

from tests.docs.probes import DATA, PDF, URL, Probe, marked, member, part, turns
from tests.docs.probes.words import MORE, NOTE, SAYS, TEXT, said

TURNS = [
    Probe(
        "system text",
        {
            "chat": turns(before=({"role": "system", "content": "Be brief."},)),
            "responses": member(instructions="Be brief."),
            "messages": member(system="Be brief."),
            "gemini": member(systemInstruction={"parts": [{"text": "Be brief."}]}),
        },
    ),
    Probe(
        "developer text",
        dict.fromkeys(("chat", "responses"), turns(before=({"role": "developer", "content": "Be brief."},))),
    ),
    Probe(
        "system text in mid-conversation",
        {
            client: turns(
                {"role": "assistant", "content": "Hi"},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": MORE},
            )
            for client in ("chat", "responses", "messages")
        },
    ),
    Probe(
        "a final turn of the assistant's",
        {
            "chat": said("chat", content="Hi", prompt=False),
            "responses": said("responses", SAYS, prompt=False),
            "messages": said("messages", TEXT, prompt=False),
            "gemini": said("gemini", {"text": "Hi"}, prompt=False),
        },
    ),
    Probe(
        "a name of the user's",
        {"chat": turns({"role": "user", "content": "Hi", "name": "Anna"})},
        {"chat": turns({"role": "user", "content": "Hi"})},
    ),
    Probe(
        "a refusal",
        {
            "chat": said("chat", content=None, refusal="No."),
            "responses": said("responses", {**SAYS, "content": [{"type": "refusal", "refusal": "No."}]}),
        },
    ),
    Probe(
        "an image",
        {
            "chat": part({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}),
            "responses": part({"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}),
            "messages": part({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}),
            "gemini": part({"inlineData": {"mimeType": "image/png", "data": DATA}}),
        },
    ),
    Probe(
        "an image's address",
        {
            "chat": part({"type": "image_url", "image_url": {"url": URL}}),
            "responses": part({"type": "input_image", "image_url": URL}),
            "messages": part({"type": "image", "source": {"type": "url", "url": URL}}),
            "gemini": part({"fileData": {"mimeType": "image/png", "fileUri": URL}}),
        },
    ),
    Probe(
        "an image's `detail`",
        {
            "chat": part({"type": "image_url", "image_url": {"url": URL, "detail": "low"}}),
            "responses": part({"type": "input_image", "image_url": URL, "detail": "low"}),
        },
        {
            "chat": part({"type": "image_url", "image_url": {"url": URL}}),
            "responses": part({"type": "input_image", "image_url": URL}),
        },
    ),
    Probe(
        "a PDF",
        {
            "chat": part(
                {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
            ),
            "responses": part(
                {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
            ),
            "messages": part(
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
            ),
            "gemini": part({"inlineData": {"mimeType": "application/pdf", "data": PDF}}),
        },
    ),
    Probe(
        "a text file",
        {
            "chat": part({"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,SGk="}}),
            "responses": part({"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,SGk="}),
            "messages": part(
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}}
            ),
            "gemini": part({"inlineData": {"mimeType": "text/plain", "data": "SGk="}}),
        },
    ),
    Probe(
        "a spreadsheet",
        {
            "chat": part(
                {
                    "type": "file",
                    "file": {"filename": "a.xls", "file_data": "data:application/vnd.ms-excel;base64,SGk="},
                }
            ),
            "responses": part(
                {"type": "input_file", "filename": "a.xls", "file_data": "data:application/vnd.ms-excel;base64,SGk="}
            ),
            "gemini": part({"inlineData": {"mimeType": "application/vnd.ms-excel", "data": "SGk="}}),
        },
    ),
    Probe(
        "a document's address",
        {
            "responses": part({"type": "input_file", "file_url": "https://llm.example/a.pdf"}),
            "messages": part({"type": "document", "source": {"type": "url", "url": "https://llm.example/a.pdf"}}),
            "gemini": part({"fileData": {"mimeType": "application/pdf", "fileUri": "https://llm.example/a.pdf"}}),
        },
    ),
    Probe(
        "a file in the vendor's store",
        {
            "chat": part({"type": "file", "file": {"file_id": "file_1"}}),
            "responses": part({"type": "input_file", "file_id": "file_1"}),
            "messages": part({"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
            "gemini": part({"fileData": {"mimeType": "application/pdf", "fileUri": "files/1"}}),
        },
    ),
    Probe(
        "a search result",
        {
            "messages": part(
                {"type": "search_result", "source": URL, "title": "A", "content": [{"type": "text", "text": "Hi"}]}
            )
        },
    ),
    Probe(
        "sound",
        {
            "chat": part({"type": "input_audio", "input_audio": {"data": "SGk=", "format": "wav"}}),
            "responses": part({"type": "input_audio", "input_audio": {"data": "SGk=", "format": "wav"}}),
            "gemini": part({"inlineData": {"mimeType": "audio/wav", "data": "SGk="}}),
        },
    ),
    Probe("a video", {"gemini": part({"fileData": {"mimeType": "video/mp4", "fileUri": "https://llm.example/a.mp4"}})}),
    Probe(
        "a cache marker on text",
        {
            "chat": marked(prompt_cache_breakpoint={"mode": "explicit"}),
            "responses": marked(prompt_cache_breakpoint={"mode": "explicit"}),
            "messages": marked(cache_control={"type": "ephemeral"}),
        },
    ),
    Probe(
        "citations of a document",
        {"messages": part({**NOTE, "citations": {"enabled": True}})},
        {"messages": part(NOTE)},
    ),
]
