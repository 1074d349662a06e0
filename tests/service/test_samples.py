"""The samples are tables that the service itself takes."""

import httpx2


def test_every_sample_is_a_dataset(client: httpx2.Client) -> None:
    listed = client.get("/v1/samples").json()["data"]
    assert [sample["name"] for sample in listed] == ["wdbc", "wine", "digits", "iris"]
    for sample in listed:
        csv = client.get(f"/v1/samples/{sample['name']}")
        assert csv.headers["content-type"].startswith("text/csv")
        created = client.post(
            "/v1/datasets",
            params={"target": sample["target"]},
            content=csv.content,
            headers={"Content-Type": "text/csv"},
        )
        assert created.status_code in (200, 201)
        dataset = created.json()
        assert (dataset["n_rows"], dataset["n_features"]) == (sample["n_rows"], sample["n_features"])
        assert len(dataset["classes"]) == sample["n_classes"]


def test_unknown_sample(client: httpx2.Client) -> None:
    response = client.get("/v1/samples/tulips")
    assert response.status_code == 404
    assert response.json()["detail"] == "There is no sample 'tulips'."
